import type { BudgetLimit } from '../config/sections/budget-config.ts';

/* Types and pure functions of budgets. */

/**
 * Who takes from a budget, most important first.
 *
 * - `send`: a message, an invitation or a reminder leaves
 * - `interactive`: somebody waits for it: a change made through the API, news, the content of a
 *   message that a request asked for
 * - `history`: older content that the mirror fetches in the background
 */
export const BUDGET_PRIORITIES = ['send', 'interactive', 'history'] as const;
export type BudgetPriority = (typeof BUDGET_PRIORITIES)[number];

/** What one request takes from one bucket. */
export interface BudgetShare {
  /**
   * Name of the bucket, for all processes. It contains the provider, what is limited, and who is
   * limited, for example `google:units:<client id>:<address>`.
   */
  key: string;
  limit: BudgetLimit;
  /** In the units of the limit. */
  cost: number;
}

/** How a bucket is filled. */
export interface Bucket {
  /** Most units that it holds. */
  capacity: number;
  /** Units that flow in per second. */
  perSecond: number;
}

const DEFAULT_BURST = 0.25;

/** Share of the capacity that each priority leaves for those above it. */
const RESERVES: Readonly<Record<BudgetPriority, number>> = {
  send: 0,
  interactive: 0.2,
  history: 0.5,
};

/**
 * The bucket that keeps a limit: what it holds and what flows in during the period are together
 * exactly the limit. So no period of this length exceeds it, whenever the period begins.
 */
export function bucketOf({ units, seconds, burst = DEFAULT_BURST }: BudgetLimit): Bucket {
  const capacity = units * burst;
  return { capacity, perSecond: (units - capacity) / seconds };
}

/**
 * Units that must be left in the bucket after a share was taken. A share that is larger than what a
 * priority may use of the bucket needs the full bucket.
 * @throws {RangeError} if the bucket can never hold as much as the share costs
 */
export function reserveOf({ key, limit, cost }: BudgetShare, priority: BudgetPriority): number {
  const { capacity } = bucketOf(limit);
  if (cost > capacity)
    throw new RangeError(`${key}: a request costs ${cost} units, the bucket holds ${capacity}`);
  return Math.min(capacity * RESERVES[priority], capacity - cost);
}
