import type { Report } from './report.ts';
import type { World } from './world.ts';

/** One line of the result: a measured value with its needed value and its aim. */
export interface Finding {
  /** The same in each run, because results of several machines stand side by side. */
  what: string;
  /** More about this run's value, for example both rates of a comparison. */
  detail?: string;
  measured: number;
  /** `null`: the value is only shown, and cannot be missed. */
  needed: number | null;
  /** A value better than `needed`, or `null` if there is no further aim. */
  aim: number | null;
  /** Whether a higher or a lower value is better. */
  better: 'more' | 'less';
  /** Unit printed after the values: ` ms`, ` a second`, or nothing for a ratio. */
  unit: string;
  /** The measured value of each round; absent if there is only one measurement. */
  rounds?: readonly number[];
  /** First and third quartile of the rounds, if `measured` is their median. */
  quartiles?: readonly [number, number];
  /** Figures of each side and round, for the JSON file. */
  figures: Readonly<Record<string, unknown>>;
}

/** A measurement that can run alone. */
export interface BenchRow {
  /** Name of the row for `--only`. No other row of any part has it. */
  key: string;
  title: string;
  /** Measures the row and removes what it created in the world, unless it throws. */
  run(world: World, report: Report): Promise<Finding[]>;
}

/** What decides whether a value was reached. */
type Judged = Pick<Finding, 'measured' | 'better'>;

/** Whether the measured value is at least as good as `value`. */
export function reaches({ measured, better }: Judged, value: number): boolean {
  return better === 'more' ? measured >= value : measured <= value;
}

/**
 * `aim` if the aim is reached, `yes` if only the needed value is, `shown` if none is needed, else
 * `NO`.
 */
export function verdict(
  finding: Judged & Pick<Finding, 'needed' | 'aim'>,
): 'aim' | 'yes' | 'shown' | 'NO' {
  if (finding.needed === null) return 'shown';
  if (!reaches(finding, finding.needed)) return 'NO';
  return finding.aim !== null && reaches(finding, finding.aim) ? 'aim' : 'yes';
}
