// The types of stepper-page.mjs, which is plain JavaScript because Node 20 runs no TypeScript.
export function stepperPage(files: ReadonlyMap<string, string>): Promise<string>;
