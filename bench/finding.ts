import type { Report } from './report.ts';
import type { World } from './world.ts';

/** One line of the result: a measured value with its needed value and its aim. */
export interface Finding {
  what: string;
  measured: number;
  needed: number;
  /** A value better than `needed`, or `null` if there is no further aim. */
  aim: number | null;
  /** Whether a higher or a lower value is better. */
  better: 'more' | 'less';
  /** Unit printed after the values: ` ms`, ` a second`, or nothing for a ratio. */
  unit: string;
  /** Figures of each side and round, for the JSON file. */
  figures: Readonly<Record<string, unknown>>;
}

/** A measurement that can run alone. */
export interface BenchRow {
  /** Name of the row for `--only`. */
  key: string;
  title: string;
  /** Measures the row and removes what it created in the world, unless it throws. */
  run(world: World, report: Report): Promise<Finding[]>;
}

/** Whether the measured value is at least as good as `value`. */
export function reaches({ measured, better }: Finding, value: number): boolean {
  return better === 'more' ? measured >= value : measured <= value;
}
