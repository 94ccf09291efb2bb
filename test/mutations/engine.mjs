// Breaks of the engine.

const DRIVER = 'src/engine/turn-driver.ts';
const TOOLS = 'src/engine/tool-work.ts';
const RECORDS = 'src/engine/turn-records.ts';
const WRITES = 'src/engine/turn-writes.ts';
const WALK = 'src/engine/gate-walk.ts';
const RECOVERY = 'src/engine/recovery.ts';

export const ENGINE = [
  {
    breaks: 'The attempt is counted late: after everything heavy and foreign has run (I4).',
    file: WALK,
    search: '      await this.countAttempt();\n',
    replace: '',
    tests: ['test/paths/recovery.test.ts'],
  },
  {
    breaks: 'A hand-over spends an attempt.',
    file: WALK,
    search: '...(head.handedOver || this.asked.wasParked === true ? {} : counted),',
    replace: '...counted,',
    tests: ['test/engine/close.test.ts', 'test/engine/recovery.test.ts'],
  },
  {
    breaks: 'Presence is stored: a recovered turn has somebody there (I6).',
    file: WALK,
    search: 'return asked.attended || (wasParked',
    replace: 'return true || (wasParked',
    tests: ['test/engine/review-presence.test.ts', 'test/whole-turn/attend.test.ts'],
  },
  {
    breaks: 'What a process was running when it died is not in doubt.',
    file: WALK,
    search: "    records.journal.loseDispatched('crash');\n",
    replace: '',
    tests: ['test/engine/doubts.test.ts'],
  },
  {
    breaks: 'The checkpoint of another turn is resumed.',
    file: WALK,
    search: "if (decoded.snapshot.context.turnId !== this.head.turnId) return 'the checkpoint is of another turn';",
    replace: '',
    tests: ['test/whole-turn/unnoticed.test.ts'],
  },
  {
    breaks: 'The lock is skipped in recovery: a turn runs on a route that is in use (I7).',
    file: RECOVERY,
    search: 'const lease = await this.roster.store.acquire(found.routeKey);',
    replace: 'const lease: Lease = { routeKey: found.routeKey, token: 0, lost: new AbortController().signal };',
    tests: ['test/engine/review-routes.test.ts', 'test/engine/recovery.test.ts'],
  },
  {
    breaks: 'Recovery judges a turn by the head it read before it had the route (I7).',
    file: RECOVERY,
    search: "const head = await this.readHead(sessionId, turnId ?? '');",
    replace: 'const head: Head | undefined = found;',
    tests: ['test/races/found.test.ts'],
  },
  {
    breaks: 'One session that cannot be recovered keeps the others from their verdict (I12).',
    file: RECOVERY,
    search: "      this.telling({ sessionId, turnId }, asked)('interrupted_turn_held', 'store', reason);\n",
    replace: '      throw thrown;\n',
    tests: ['test/engine/damage.test.ts', 'test/engine/recovery.test.ts', 'test/engine/store-failures.test.ts'],
  },
  {
    breaks: 'Effects and announcements come before the commit.',
    file: DRIVER,
    search: "    await this.makeDurable(plan, deadlines, event.type === 'turn.handedOver');\n",
    replace:
      "    const durable = this.makeDurable(plan, deadlines, event.type === 'turn.handedOver');\n" +
      '    await this.adopt(plan, deadlines);\n    return durable;\n',
    tests: ['test/engine/main-life.test.ts', 'test/engine/store-failures.test.ts'],
  },
  {
    breaks: 'A call is dispatched before the commit that names it (I1).',
    file: TOOLS,
    search:
      '    if (event !== undefined) await this.scope.advance(event);\n' +
      '    else await this.scope.writeFacts();\n' +
      '    this.startDispatched();\n',
    replace:
      '    this.startDispatched();\n' +
      '    if (event !== undefined) await this.scope.advance(event);\n' +
      '    else await this.scope.writeFacts();\n',
    tests: ['test/engine/scheduling.test.ts', 'test/engine/approvals.test.ts', 'test/engine/doubts.test.ts'],
  },
  {
    breaks: 'What a phase had started is not told that the phase is over.',
    file: DRIVER,
    search: '      this.phaseEnd.abort(() => endOf(plan));\n      this.phaseEnd = new CutOff();',
    replace: '      this.phaseEnd = new CutOff();',
    tests: ['test/whole-turn/compaction-refused.test.ts'],
  },
  {
    breaks: 'The generation is ignored: a compaction that took too long is applied to a turn that has gone on.',
    file: 'src/engine/compaction-work.ts',
    search: '      if (scope.generation !== generation) return;\n      if (refused',
    replace: '      if (refused',
    tests: ['test/whole-turn/compaction-refused.test.ts'],
  },
  {
    breaks: 'A time-out that was disarmed while it waited in the mailbox counts all the same.',
    file: 'src/engine/timers.ts',
    search: '() => this.armed.get(id) === entry && this.armed.delete(id)',
    replace: '() => true',
    tests: ['test/engine/watchdog.test.ts', 'test/engine/model-errors.test.ts'],
  },
  {
    breaks: 'The result of an older dispatch settles the new one.',
    file: TOOLS,
    search: 'if (call === undefined || call.dispatch !== dispatch) return false;',
    replace: 'if (call === undefined) return false;',
    tests: ['test/engine/doubts.test.ts', 'test/engine/misbehaving-tools.test.ts', 'test/engine/random-walk.test.ts'],
  },
  {
    breaks: 'A deadline is not stored: a restart gives its whole time again (I13).',
    file: WRITES,
    search: 'deadlines: Object.fromEntries(deadlines),',
    replace: 'deadlines: {},',
    tests: ['test/paths/turn.test.ts'],
  },
  {
    breaks: 'A closed process does not say that it handed its turn over.',
    file: WRITES,
    search: '      handedOver,\n',
    replace: '      handedOver: false,\n',
    tests: ['test/engine/close.test.ts'],
  },
  {
    breaks: 'The outcome of a turn is not due until it was taken.',
    file: WRITES,
    search: 'withDue(head.outcomesDue, turnId),',
    replace: 'head.outcomesDue,',
    tests: ['test/engine/outcome-delivery.test.ts'],
  },
  {
    breaks: 'A turn that ends leaves calls without a result (I10).',
    file: WRITES,
    search: "    records.closeBatch(context.limits.outputBytes, 'cancel');\n",
    replace: '',
    tests: ['test/engine/cancel.test.ts'],
  },
  {
    breaks: 'Whatever is written counts as progress: a turn that gets nowhere is recovered for ever.',
    file: RECORDS,
    search: 'progress: calls.some(isSettled) || parts.transcript !== undefined,',
    replace: 'progress: true,',
    tests: ['test/whole-turn/unnoticed.test.ts'],
  },
  {
    breaks: 'Input that joined leaves no trace: sent again, it is there twice (I11).',
    file: RECORDS,
    search: 'parts.seen = this.joined.map(({ messageId }) => ({ messageId, turnId: this.turnId }));',
    replace: 'parts.seen = [];',
    tests: ['test/engine/input-during-turn.test.ts'],
  },
  {
    breaks: 'Input that joined stays in the inbox (I11).',
    file: RECORDS,
    search: 'parts.inbox = { put: [], remove: this.joined };',
    replace: 'parts.inbox = { put: [], remove: [] };',
    tests: ['test/engine/input-during-turn.test.ts'],
  },
  {
    breaks: 'A cancel is told before it is durable (I8).',
    file: 'src/engine/running-turn.ts',
    search: "        await this.driver.advance({ type: 'turn.cancelled' });\n",
    replace: "        void this.driver.advance({ type: 'turn.cancelled' });\n",
    tests: ['test/engine/cancel.test.ts', 'test/engine/store-failures.test.ts'],
  },
  {
    breaks: 'Grants hold when nobody is there (I6).',
    file: 'src/engine/admission.ts',
    search: 'if (attended && isGranted(record.toolName))',
    replace: 'if (isGranted(record.toolName))',
    tests: ['test/whole-turn/grants.test.ts'],
  },
  {
    breaks: 'A call that needs approval runs when nobody is there (I6).',
    file: 'src/engine/admission.ts',
    search:
      "    return { kind: 'refuse', reason: 'This call needs the approval of a person, and nobody is there. It did not run.' };",
    replace: "    return { kind: 'free' };",
    tests: ['test/engine/approvals.test.ts'],
  },
  {
    breaks: 'What was decided while somebody was there counts when nobody is (I6).',
    file: 'src/engine/known-calls.ts',
    search: "return call.attended === attended ? call.admission : { kind: 'pending' };",
    replace: 'return call.admission;',
    tests: ['test/whole-turn/attend.test.ts', 'test/engine/review-presence.test.ts', 'test/paths/turn.test.ts'],
  },
  {
    breaks: 'A call that is identical to an open doubt pays again.',
    file: 'src/engine/admission.ts',
    search: "record.effect === 'external' && hasOpenTwin(record, reviews)",
    replace: 'false',
    tests: ['test/engine/doubts.test.ts', 'test/engine/interrupted-input.test.ts', 'test/whole-turn/reviews.test.ts'],
  },
  {
    breaks: 'A commit that fails is not tried again: the turn is lost.',
    file: 'src/engine/turn-commits.ts',
    search: 'if (!failed || this.givenUp) throw thrown;',
    replace: 'throw thrown;',
    tests: ['test/engine/store-failures.test.ts'],
  },
  {
    breaks: 'Whoever is first in the queue of a route keeps the others from it, even with nothing left to do.',
    file: 'src/engine/routes.ts',
    search: '        if (await work()) return;\n',
    replace: '        await work();\n        return;\n',
    tests: ['test/whole-turn/unnoticed.test.ts'],
  },
  {
    breaks: 'Secrets are announced as they are.',
    file: 'src/engine/announcer.ts',
    search: 'redact === undefined ? body : redactEvent(redact, body)',
    replace: 'body',
    tests: ['test/whole-turn/redact.test.ts'],
  },
  {
    breaks: 'An abandoned turn forgets what was in doubt.',
    file: 'src/engine/abandon.ts',
    search: "  records.journal.loseDispatched('crash');\n",
    replace: '',
    tests: ['test/whole-turn/unnoticed.test.ts'],
  },
  {
    breaks: 'A person who decides about a parked turn is not heard: it stays parked.',
    file: 'src/engine/resting-turn.ts',
    search: 'waiting: waits ? {',
    replace: 'waiting: head.inProgress ? {',
    tests: ['test/whole-turn/decisions.test.ts', 'test/engine/approvals.test.ts'],
  },
  {
    breaks: 'A turn that stays held is told again in every round.',
    file: 'src/engine/holds.ts',
    search: '      else if (hold === before) return;\n',
    replace: '',
    tests: ['test/engine/rounds.test.ts'],
  },
  {
    breaks: 'The journal of what a rewind takes out of the list stays for ever.',
    file: 'src/engine/rewind.ts',
    search: 'remove: remove.map(({ callId }) => callId)',
    replace: 'remove: []',
    tests: ['test/whole-turn/rewind.test.ts'],
  },
  {
    breaks: 'A rewind forgets a doubt that a person has to settle.',
    file: 'src/engine/rewind.ts',
    search: ' && !doubted.has(callId)',
    replace: '',
    tests: ['test/whole-turn/rewind.test.ts'],
  },
];
