// The moments at which this process can die, be held, or be counted. They have names and numbers, so that the test can
// kill at each of them: a process that ends itself dies exactly there, on every machine and at every load.

/** `say` tells the test something while the process runs. */
export function namedMoments({ killAt, holdAt, letGo }, witness, say) {
  const passed = [];
  const afterCommit = [];
  let commits = 0;
  let arrive;
  let release;
  const released = new Promise((resolve) => {
    release = resolve;
  });

  async function at(name, signal) {
    // Two moments with the same commits and the same effects leave the same bytes behind.
    passed.push({ name, state: `${commits} commits, ${witness.effects} effects` });
    if (killAt === passed.length || killAt === name) {
      witness.write({ what: 'killed', at: name });
      process.kill(process.pid, 'SIGKILL');
    }
    if (holdAt !== name) return;
    say('held');
    arrive();
    await new Promise((resolve) => {
      released.then(resolve);
      signal?.addEventListener('abort', resolve, { once: true });
    });
  }

  return {
    passed,
    at,
    /** Resolves when the process came to the moment at which it is held. */
    held: new Promise((resolve) => {
      arrive = resolve;
    }),
    /** What is held goes on, where the test wants that; else only the abort of its signal ends it. */
    goOn() {
      if (letGo === true) release();
    },
    nextCommit: () => new Promise((resolve) => afterCommit.push(resolve)),
    /** The store, with a moment before each commit is handed to it and one before its success is passed on. */
    watch: (store) =>
      new Proxy(store, {
        get(target, property) {
          const value = target[property];
          if (property !== 'commit') return typeof value === 'function' ? value.bind(target) : value;
          return async (commit) => {
            const name = `commit ${commit.head.revision} (${commit.head.phase})`;
            await at(`before ${name}`);
            await target.commit(commit);
            commits += 1;
            await at(`after ${name}`);
            for (const resolve of afterCommit.splice(0)) resolve();
          };
        },
      }),
  };
}
