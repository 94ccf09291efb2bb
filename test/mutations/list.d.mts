// The type of the list, for the test that holds it to the code.
export interface Mutation {
  /** What goes wrong, as a sentence. */
  readonly breaks: string;
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly search: string;
  readonly replace: string;
  /** Test files of which at least one has to fail. */
  readonly tests: readonly string[];
}

export const MUTATIONS: readonly Mutation[];
