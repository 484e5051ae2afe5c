import fs from 'node:fs';
import path from 'node:path';
import type { Finding } from './finding.ts';

/** Last figures of one row on one machine type. */
export interface KeptRow {
  /** Day of the measurement, for example `2026-11-25`. */
  at: string;
  node: string;
  postgres: string;
  /** The machine's load average before the row. Its own earlier rows are part of it. */
  load: number;
  findings: readonly Omit<Finding, 'figures'>[];
}

/** Rows of one run by key. */
export interface MeasuredRows {
  /** Type of the machine. */
  machine: string;
  rows: Readonly<Record<string, KeptRow>>;
}

/** The last figures of each row, by machine type and key of the row. */
export type Results = Readonly<Record<string, Readonly<Record<string, KeptRow>>>>;

const FILE = path.resolve(import.meta.dirname, 'results.json');

/**
 * Adds the rows of a run to the kept figures: they replace the same rows of the same machine type.
 * @param keys all rows in the order of measurement; others are removed
 */
export function merged(
  results: Results,
  { machine, rows }: MeasuredRows,
  keys: readonly string[],
): Results {
  const all = { ...results, [machine]: { ...results[machine], ...rows } };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, kept]) => {
      const known = keys.flatMap((key) => (kept[key] ? [[key, kept[key]] as const] : []));
      return known.length > 0 ? [[name, Object.fromEntries(known)]] : [];
    }),
  );
}

/** The kept figures, from `bench/results.json`. */
export function readResults(): Results {
  return JSON.parse(fs.readFileSync(FILE, 'utf8')) as Results;
}

/** Writes the kept figures to `bench/results.json`. */
export function writeResults(results: Results): void {
  fs.writeFileSync(FILE, `${JSON.stringify(results, null, 2)}\n`);
}
