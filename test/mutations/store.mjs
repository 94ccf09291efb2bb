// Breaks of the store.

const JOB = 'src/store/commit-job.ts';
const SESSIONS = 'src/store/sessions.ts';
const CONTRACT = 'test/testing/turn-store-suite.test.ts';

export const STORE = [
  {
    breaks: 'The marker is kept on cancel (I2).',
    file: SESSIONS,
    search: '  if (!head.inProgress && head.outcomesDue.length === 0) return null;',
    replace:
      "  if (!head.inProgress && head.outcomesDue.length === 0 && head.ended?.kind !== 'cancelled') return null;",
    tests: ['test/engine/cancel.test.ts'],
  },
  {
    breaks: 'The marker goes although an outcome is due: a crash loses it (I2).',
    file: SESSIONS,
    search: '  if (!head.inProgress && head.outcomesDue.length === 0) return null;',
    replace: '  if (!head.inProgress) return null;',
    tests: ['test/engine/outcome-delivery.test.ts'],
  },
  {
    breaks: 'A commit is not synced: a power loss takes it back.',
    file: 'src/store/tables.ts',
    search: 'await this.level.batch(bound, { sync: true });',
    replace: 'await this.level.batch(bound, { sync: false });',
    tests: ['test/store/faults.test.ts', 'test/testing/crash-store.test.ts'],
  },
  {
    breaks: 'What a batch asks for is lost on its way to LevelDB: a power loss takes it back.',
    file: 'src/store/opening.ts',
    search: 'await pieces.write(options);',
    replace: 'await pieces.write({});',
    tests: ['test/store/traps/durability.test.ts'],
  },
  {
    breaks: 'A checksum says nothing about the key: a record is read under another one.',
    file: 'src/store/records.ts',
    search: 'const place = crc32(`${kind}!${key}`);',
    replace: "const place = crc32('');",
    tests: ['test/store/records.test.ts'],
  },
  {
    breaks: 'A checksum is never compared.',
    file: 'src/store/records.ts',
    search: 'if (record.readUInt32BE(CHECKSUM_AT) !== checksum(kind, key, record))',
    replace: 'if (record.length === 0)',
    tests: ['test/store/records.test.ts'],
  },
  {
    breaks: 'A commit that is based on an old revision is taken (I7).',
    file: JOB,
    search: '    if (known.revision !== base) {',
    replace: '    if (known.revision < base) {',
    tests: [CONTRACT, 'test/store/model.test.ts'],
  },
  {
    breaks: 'A lease that was taken over still commits (I7).',
    file: JOB,
    search: 'if (lease === null || this.#context.leases.isNewest(lease)) return;',
    replace: 'if (lease?.token !== 0) return;',
    tests: [CONTRACT],
  },
  {
    breaks: 'Two drivers get the same route (I7).',
    file: 'src/store/leases.ts',
    search: '    if (this.#held.has(routeKey)) return undefined;\n',
    replace: '',
    tests: [CONTRACT],
  },
  {
    breaks: 'A commit that was reported as failed and is durable is reported as failed again.',
    file: JOB,
    search: 'if (known.revision === this.#commit.after.revision && (await this.landed(tables))) {',
    replace: 'if (known.revision < 0) {',
    tests: ['test/store/faults.test.ts'],
  },
  {
    breaks: 'A failed handle is written to again, and later commits are lost.',
    file: 'src/store/write-queue.ts',
    search: '    this.#database.poison(tables);\n',
    replace: '',
    tests: ['test/store/faults.test.ts'],
  },
  {
    breaks: 'What a cut-off rewrite left is mixed with the next one (I3).',
    file: JOB,
    search: "if ((await tables.keys('message', messagesOfEpoch(this.lane, after.epoch), 1)).length > 0) {",
    replace: "if ((await tables.keys('message', messagesOfEpoch(this.lane, after.epoch), 1)).length < 0) {",
    tests: ['test/store/faults.test.ts', 'test/store/model.test.ts'],
  },
  {
    breaks: 'The sweep at the opening deletes the epoch that the head names.',
    file: 'src/store/garbage.ts',
    search: '  if (named === epoch) return;\n',
    replace: '',
    tests: ['test/store/faults.test.ts', 'test/store/model.test.ts', 'test/store/damage.test.ts'],
  },
  {
    breaks: 'An epoch that was left behind is never swept.',
    file: JOB,
    search: 'this.#context.sweep(this.lane, old.epoch);',
    replace: 'void old.epoch;',
    tests: ['test/store/faults.test.ts', 'test/store/model.test.ts'],
  },
  {
    breaks: 'LevelDB opens a folder of a newer format, and changes it, before anybody refuses.',
    file: 'src/store/folder.ts',
    search: '      refuseNewer(findRecord(content, FORMAT_PLACE));\n',
    replace: '',
    tests: ['test/store/newer-format.test.ts'],
  },
  {
    breaks: 'A plan of a repair is believed with another name in it: an original is overwritten.',
    file: 'src/store/swap.ts',
    search: ' && sum === sumOf(plan) ? plan',
    replace: ' ? plan',
    tests: ['test/store/swap.test.ts'],
  },
  {
    breaks: 'A half repaired folder is put together although nothing says that it is whole.',
    file: 'src/store/unreadable-plan.ts',
    search: "return !twice(there) && (await isWhole([folder, repaired])) ? 'placing' : 'unknown';",
    replace: "return 'placing';",
    tests: ['test/store/swap.test.ts'],
  },
  {
    breaks: 'Two threads take over the same opening: the folder is open twice (I7).',
    file: 'src/store/owner.ts',
    search: '  if (identityOf(file) === seen) {',
    replace: "  if (identityOf(file) !== '') {",
    tests: ['test/store/owner.test.ts'],
  },
  {
    breaks: 'A repair does not look at what earlier turns left: a session goes back without a word.',
    file: 'src/store/scrub.ts',
    search: '    await checkTraces(tables, head);\n',
    replace: '',
    tests: ['test/store/repair.test.ts'],
  },
  {
    breaks: 'Markers lie in the order of time: what they leave is never merged away.',
    file: 'src/store/keys.ts',
    search: 'export const markerKey = (sessionId: string): string => spread(sessionId);',
    replace: 'export const markerKey = (sessionId: string): string => part(sessionId);',
    tests: ['test/store/traps/cost.test.ts', 'test/store/keys.test.ts'],
  },
];
