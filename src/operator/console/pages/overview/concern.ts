import { MOST_COUNTED } from '../../../search/search-limit.ts';
import { counted } from '../../kit/figures.ts';

/** Something that an operator should look at. */
export interface Concern {
  tone: 'bad' | 'warning';
  title: string;
  /** The likely cause, and what to do. */
  text: string;
  /** The page that shows more; `null` if there is none. */
  link: { path: string; label: string } | null;
}

/** A number that was counted up to a limit, with its noun. */
export const bounded = (value: number, one: string, many?: string): string =>
  (value >= MOST_COUNTED ? 'at least ' : '') + counted(value, one, many);

/** So many failures are a concern, and more than this share are bad. */
const LEAST_FAILURES = 3;
const BAD_SHARE = 0.5;

/** Attempts, or requests, of one minute. */
export interface MinuteCounts {
  failed: number;
  /** Failed ones and all others. */
  all: number;
}

/**
 * A concern about the failures of the last minutes. There is none once a minute had attempts and no
 * failure: then the fault is repaired.
 * @param counts minute by minute, oldest first
 * @param leastShare failures below this share of all are no concern
 */
export function recentFailures(
  counts: readonly MinuteCounts[],
  leastShare: number,
  concern: (sum: MinuteCounts) => Omit<Concern, 'tone'>,
): Concern[] {
  const failed = counts.reduce((sum, one) => sum + one.failed, 0);
  const all = counts.reduce((sum, one) => sum + one.all, 0);
  if (failed < LEAST_FAILURES || failed < all * leastShare) return [];
  if (counts.findLast((minute) => minute.all > 0)?.failed === 0) return [];
  return [{ tone: failed > all * BAD_SHARE ? 'bad' : 'warning', ...concern({ failed, all }) }];
}
