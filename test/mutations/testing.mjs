// Breaks of the kit for users.

const KIT = 'src/testing/';

export const TESTING = [
  {
    breaks: 'One call that is done twice stands for another one that is lost.',
    file: `${KIT}crash-run.ts`,
    search: "  about: inputs.get(key) ?? (detail === undefined ? '' : canonicalJson(detail)),",
    replace: "  about: detail === undefined || inputs.has(key) ? '' : '',",
    tests: ['test/testing/crash-matrix.test.ts'],
  },
  {
    breaks: 'A process is stuck because the machine is busy.',
    file: `${KIT}crash-time.ts`,
    search: '      return still.looks > PASSES;',
    replace: '      return still.looks > 0 && still.ms > 1;',
    tests: ['test/testing/crash-time.test.ts'],
  },
];
