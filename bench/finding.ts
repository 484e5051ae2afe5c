import type { Report } from './report.ts';
import type { World } from './world.ts';

/** One line of the result: a value against what is needed and what is aimed at. */
export interface Finding {
  what: string;
  measured: number;
  needed: number;
  /** Null: the needed value is all there is to reach. */
  aim: number | null;
  /** Whether more is better, or less. */
  better: 'more' | 'less';
  /** Behind the values: ` ms`, ` a second`, or nothing for a ratio. */
  unit: string;
  /** The figures of each side and round, for the JSON. */
  figures: Readonly<Record<string, unknown>>;
}

/** What is measured by itself. */
export interface BenchRow {
  /** Its name for `--only`. */
  key: string;
  title: string;
  /** Measures it; takes away what it made in the world, unless it throws. */
  run(world: World, report: Report): Promise<Finding[]>;
}

/** Whether `value` was reached. */
export function reaches({ measured, better }: Finding, value: number): boolean {
  return better === 'more' ? measured >= value : measured <= value;
}
