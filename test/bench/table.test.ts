// How figures are shown: what nobody may quote says so, and what stops a workload is told of full sizes only.
import { expect, it } from 'vitest';

interface Table {
  asText(rows: readonly object[], size: string): string;
  asMarkdown(rows: readonly object[], machine: object, size: string, limits: object): string;
}
const { asText, asMarkdown }: Table = await import(new URL('table.mjs', import.meta.url).href);

const value = { median: 2, low: 2, high: 2 };
const rows = [{ workload: 'B1', name: 'a figure', unit: 'ms', value, target: { atMost: 1 }, met: false, told: true }];
const machine = { node: 'v20', cpus: ['cpu', 'cpu'] };
const limits = { B1: 'the disk is slow.' };

it('tells what stops a workload that misses its target', () => {
  const text = asMarkdown(rows, machine, 'full', limits);
  expect(text).toMatch(/^Node v20, 2 × cpu:\n\n\|.*NOT MET.*\n\n\* \*\*B1\*\*: the disk is slow\.$/s);
  expect(asText(rows, 'full')).not.toContain('Small sizes');
});

it('says of small sizes that they are none to quote, and explains nothing by them', () => {
  const text = asMarkdown(rows, machine, 'quick', limits);
  expect(text).toMatch(/^Node v20, 2 × cpu\. Small sizes: to see that it runs, not to quote:\n\n\|.*NOT MET \|$/s);
  expect(asText(rows, 'quick')).toMatch(/^Small sizes: to see that it runs, not to quote\.\n\n.*NOT MET$/s);
});
