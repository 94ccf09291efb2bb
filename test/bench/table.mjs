// Owns how figures are shown: one table for a terminal, and the same one as Markdown for the README.
// Must not know what was measured.

const HEADINGS = ['', 'figure', 'measured', 'lowest to highest', 'floor', 'ratio', 'target', ''];

const digits = (value) => {
  if (value === 0 || Number.isInteger(value)) return String(value);
  const places = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  return value.toFixed(places);
};

const targetOf = ({ target }) => {
  if (target === undefined) return '';
  return target.atLeast === undefined ? `<= ${target.atMost}` : `>= ${target.atLeast}`;
};

function cellsOf(row) {
  const { value, floor, ratio, met } = row;
  return [
    row.workload,
    row.name,
    `${digits(value.median)} ${row.unit}`.trim(),
    value.low === value.high ? '' : `${digits(value.low)} to ${digits(value.high)}`,
    floor === undefined ? '' : `${digits(floor.median)} ${row.unit}`,
    ratio === undefined ? '' : digits(ratio.median),
    targetOf(row),
    met === undefined ? '' : met ? 'met' : 'NOT MET',
  ];
}

/** What has to be said of figures that nobody may quote. */
const smallSizes = (size) => (size === 'quick' ? 'Small sizes: to see that it runs, not to quote.' : '');

export function asText(rows, size) {
  const lines = [HEADINGS, ...rows.map(cellsOf)];
  const widths = HEADINGS.map((_, column) => Math.max(...lines.map((cells) => cells[column].length)));
  const padded = lines.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  );
  return joined([smallSizes(size), padded.join('\n')]);
}

const joined = (parts) => parts.filter((part) => part !== '').join('\n\n');

/**
 * What belongs into a text: figures with a target and those that are reported beside them, on which machine, and what
 * stops the workloads that miss theirs. That is known of full sizes only.
 */
export function asMarkdown(rows, { node, cpus }, size, limits) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const shown = rows.filter(({ told }) => told);
  const table = [line(HEADINGS), line(HEADINGS.map(() => '---')), ...shown.map((row) => line(cellsOf(row)))];
  const explained = size === 'full' ? shown : [];
  const missed = new Set(explained.filter(({ met }) => met === false).map(({ workload }) => workload));
  const sentences = [...missed].map((workload) => `* **${workload}**: ${limits[workload]}`);
  const heading = `Node ${node}, ${cpus.length} × ${cpus[0]}. ${smallSizes(size)}`.trim();
  return joined([`${heading.slice(0, -1)}:`, table.join('\n'), sentences.join('\n')]);
}
