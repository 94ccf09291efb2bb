// What the commands of the operator write, and how: one fact in two forms, progress beside it, nothing that a terminal
// would obey.
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Output } from '../../src/cli/operator/output.js';

const textOf = (stream: PassThrough): string => `${stream.read() ?? ''}`;

function outputs(json: boolean) {
  const [out, err] = [new PassThrough(), new PassThrough()];
  return { output: new Output(out, err, json), out: () => textOf(out), err: () => textOf(err) };
}

describe('the output of a command', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('tells a fact as a line of JSON, or as lines of text', async () => {
    const [text, json] = [outputs(false), outputs(true)];
    for (const { output } of [text, json]) {
      await output.tell({ n: 1 }, () => ['one', 'and more']);
      await output.tell({ n: 2 }, () => 'two');
    }
    expect(text.out()).toBe('one\nand more\ntwo\n');
    expect(json.out()).toBe('{"n":1}\n{"n":2}\n');
  });

  it('tells progress on stderr, once a second at most, and nothing of what is quick', async () => {
    const { output, out, err } = outputs(true);
    let asked = 0;
    const line = () => {
      asked += 1;
      return `${asked} so far`;
    };
    for (let ms = 0; ms < 3_500; ms += 100) {
      output.progress(line);
      vi.advanceTimersByTime(100);
    }
    expect(err()).toBe('1 so far\n2 so far\n3 so far\n');
    expect(out()).toBe('');
  });

  it('ends a list without a line only where nothing was told and nothing was amiss', async () => {
    const tellings = [
      () => {},
      ({ output }: ReturnType<typeof outputs>) => output.tell(1, () => 'one'),
      ({ output }: ReturnType<typeof outputs>) => output.warn('one cannot be read'),
    ];
    const said: string[] = [];
    for (const tell of tellings) {
      const made = outputs(false);
      await tell(made);
      made.output.end('there is none');
      said.push(made.err());
    }
    expect(said).toEqual(['there is none\n', '', 'one cannot be read\n']);
  });

  it('waits for a reader that is slow', async () => {
    const out = new PassThrough({ highWaterMark: 10 });
    const output = new Output(out, new PassThrough(), false);
    let written = false;
    const writing = output.text('more than ten bytes').then(() => {
      written = true;
    });
    await Promise.resolve();
    expect(written).toBe(false);
    out.resume();
    await writing;
  });

  it('shows control characters and those that turn the direction of text instead of obeying them', async () => {
    const { output, out } = outputs(false);
    await output.text('\u001b[31mred\u009b0m \u202eback\u202c \r\u0007 tab\tend\n');
    expect(out()).toBe('\\u001b[31mred\\u009b0m \\u202eback\\u202c \\u000d\\u0007 tab\tend\n');
  });
});
