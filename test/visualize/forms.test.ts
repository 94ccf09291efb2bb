// The other forms of a chart: the literal that Stately's importer reads, SCXML and mermaid.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import type { Chart } from '../../src/visualize/chart.js';
import { literalOf } from '../../src/visualize/literal.js';
import { mermaidOf } from '../../src/visualize/mermaid.js';
import { OWN_CHARTS } from '../../src/visualize/own-charts.js';
import { scxmlOf } from '../../src/visualize/scxml.js';
import { readMachine } from '../../src/visualize/xstate-fields.js';
import { bare, oddNames, shop } from './foreign-machines.js';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const scratch = mkdtempSync(join(tmpdir(), 'durable-turn-literal-'));
symlinkSync(join(root, 'node_modules'), join(scratch, 'node_modules'), 'junction');
afterAll(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }));

const MACHINES: Readonly<Record<string, AnyStateMachine>> = {
  turn: OWN_CHARTS.turn.machine,
  recovery: OWN_CHARTS.recovery.machine,
  call: OWN_CHARTS.call.machine,
  shop,
  oddNames,
  bare,
};

/** The literal as a module of its own, without the other half of the product. */
async function imported(name: string, machine: AnyStateMachine): Promise<Chart> {
  const file = join(scratch, `${name}.mjs`);
  writeFileSync(file, literalOf(machine));
  const module = await import(/* @vite-ignore */ pathToFileURL(file).href);
  return readMachine(module.machine);
}

for (const [name, machine] of Object.entries(MACHINES)) {
  describe(`the literal of ${name}`, () => {
    it('makes the same chart when it is imported again', async () => {
      const [before, after] = [readMachine(machine), await imported(name, machine)];
      // Actors inside a literal are names, so theirs are the only words that may differ.
      expect(after).toEqual(before);
    });

    it('is one createMachine({ ... }) without spreads, functions or variables', () => {
      const text = literalOf(machine);
      expect(text).toMatch(
        /^export const machine = createMachine\(\{[\s\S]*\}\);\n$|^export const machine = createMachine\(\{\}\);$/m,
      );
      const code = text.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\/\/.*$/gm, '""');
      expect(code).not.toMatch(/\.\.\.|=>|\bfunction\b|\$\{/);
      expect(code.match(/createMachine\(/g)).toHaveLength(1);
    });
  });

  describe(`the SCXML of ${name}`, () => {
    const xml = scxmlOf(readMachine(machine));
    const all = (pattern: RegExp) => [...xml.matchAll(pattern)].map((match) => match[1] ?? '');

    it('has every state once, and targets only states that are there', () => {
      const ids = all(/<(?:state|parallel|final|history) id="([^"]*)"/g);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toHaveLength(readMachine(machine).states.length);
      const targets = all(/ target="([^"]*)"/g).flatMap((list) => list.split(' '));
      expect(targets.filter((target) => !ids.includes(target))).toEqual([]);
    });

    it('is balanced', () => {
      const open: string[] = [];
      for (const [tag, slash, element = '', rest = ''] of xml.matchAll(/<(\/?)([a-z:]+)((?:"[^"]*"|[^">])*)>/g)) {
        if (slash === '/') expect(open.pop(), tag).toBe(element);
        else if (!rest.endsWith('/')) open.push(element);
      }
      expect(open).toEqual([]);
    });
  });

  describe(`the mermaid form of ${name}`, () => {
    const lines = mermaidOf(readMachine(machine)).trimEnd().split('\n');

    it('declares every state once, and leads arrows only between states that are there', () => {
      const declared = lines.flatMap((line) => /^\s*state "[^"]*" as (\w+)$/.exec(line)?.[1] ?? []);
      expect(new Set(declared).size).toBe(declared.length);
      expect(declared).toHaveLength(readMachine(machine).states.length);
      const ends = lines.flatMap((line) => {
        const [, from = '[*]', to = '[*]'] = /^\s*(\S+) --> (\S+)/.exec(line) ?? [];
        return [from, to].filter((end) => end !== '[*]');
      });
      expect(ends.filter((end) => !declared.includes(end))).toEqual([]);
    });

    it('closes every block', () => {
      const opened = lines.filter((line) => line.endsWith('{')).length;
      expect(lines.filter((line) => line.trim() === '}')).toHaveLength(opened);
    });

    it('puts no arrow into the block of one of its own ends, which mermaid takes for a cycle', () => {
      const blocks: string[] = [];
      for (const line of lines) {
        const block = /^\s*state (\w+) \{$/.exec(line)?.[1];
        if (block !== undefined) blocks.push(block);
        else if (line.trim() === '}') blocks.pop();
        const [, from = '', to = ''] = /^\s*(\S+) --> (\S+)/.exec(line) ?? [];
        expect(blocks).not.toContain(from);
        expect(blocks).not.toContain(to);
      }
    });
  });
}
