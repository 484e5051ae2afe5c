import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** What one fault test broke and the result for its messages, counted outside the program. */
export interface FaultFigures {
  /** What was broken. */
  test: string;
  /** Messages that the program had promised to send. */
  messages: number;
  /** How often something was broken, and what, such as `41 kills`. */
  faults: string;
  /** Messages that the mail server accepted, repetitions included. */
  accepted: number;
  /** Promised messages that the mail server never accepted. */
  lost: number;
  /** Surplus copies at recipients, for accounts whose provider can be asked what it has sent. */
  doubled: number;
  /**
   * Surplus copies at recipients, for accounts whose provider cannot be asked
   * (docs/reliability.md).
   */
  doubledDocumented: number;
  /** Attempts for those accounts that the timelines call repetitions after an unknown outcome. */
  resent: number;
  /** Longest time from a message's due time to the end of its job, in seconds. */
  longestSeconds: number;
}

const COLUMNS: readonly [keyof FaultFigures, string][] = [
  ['test', 'What was broken'],
  ['messages', 'Messages'],
  ['faults', 'Faults'],
  ['accepted', 'Accepted'],
  ['lost', 'Lost'],
  ['doubled', 'Doubled'],
  ['doubledDocumented', 'Doubled where documented'],
  ['resent', 'Resent where documented'],
  ['longestSeconds', 'Longest, s'],
];

/**
 * Variable with the path of the file that gathers the rows of this run, because test files share no
 * memory.
 */
const FILE_VARIABLE = 'CARILLON_FAULT_TABLE';

/** Call this once per run, before the tests. */
export function beginFaultTable(): void {
  process.env[FILE_VARIABLE] ??= path.join(os.tmpdir(), `carillon-faults-${process.pid}.jsonl`);
}

/** Adds a row. Without `beginFaultTable` the row is dropped, because no table will be printed. */
export function addFaultFigures(figures: FaultFigures): void {
  const file = process.env[FILE_VARIABLE];
  if (file) fs.appendFileSync(file, `${JSON.stringify(figures)}\n`);
}

/** Prints the gathered rows once, as a Markdown table. Prints nothing if no fault test has run. */
export function printFaultTable(): void {
  const file = process.env[FILE_VARIABLE];
  if (!file || !fs.existsSync(file)) return;
  const rows = fs.readFileSync(file, 'utf8').trimEnd().split('\n');
  fs.rmSync(file);
  const cells = rows.map((row) => {
    const figures = JSON.parse(row) as FaultFigures;
    return COLUMNS.map(([key]) => String(figures[key]));
  });
  const titles = COLUMNS.map(([, title]) => title);
  const widths = titles.map((title, index) =>
    Math.max(title.length, ...cells.map((row) => row[index]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, index) => (index === 0 || index === 2 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0))).join(' | ')} |`;
  const rule = widths.map((width, index) =>
    index === 0 || index === 2 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  process.stdout.write(`\n${[titles, rule, ...cells].map(line).join('\n')}\n\n`);
}
