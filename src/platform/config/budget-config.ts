import { z } from 'zod';

/** A provider's limit: at most `units` in any period of `seconds`. */
export interface BudgetLimit {
  units: number;
  seconds: number;
  /**
   * Share of `units` that may be used at once after a pause, between 0 and 1. The rest is spread
   * evenly over the period. Default: 0.25.
   */
  burst?: number;
}

const MOST = 100_000_000;

/**
 * The units that may be used at once, a quarter, must suffice for the dearest step: 40 messages
 * that are read together, 20 units each.
 */
const LEAST_UNITS = 3_200;
/** As above, for steps that take one. */
const LEAST_REQUESTS = 4;

const count = (fallback: number, least = 1, most = MOST) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= least && value <= most, `must be between ${least} and ${most}`)
    .default(fallback);

/** The variables of budgets; they are part of `environmentSchema`. */
export const budgetVariables = {
  GMAIL_UNITS_PER_ACCOUNT: count(6_000, LEAST_UNITS),
  GMAIL_UNITS_PER_APPLICATION: count(1_200_000, LEAST_UNITS),
  GMAIL_UNITS_PER_READ: count(20, 1, 20),
  GRAPH_REQUESTS_PER_ACCOUNT: count(10_000, LEAST_REQUESTS),
  GRAPH_REQUESTS_PER_APPLICATION: count(130_000, LEAST_REQUESTS),
  GRAPH_CONCURRENT_PER_ACCOUNT: count(4),
  GRAPH_MESSAGES_PER_ACCOUNT: count(30, LEAST_REQUESTS),
};

const schema = z.object(budgetVariables);

/**
 * Limits of providers that our requests stay below (docs/adr/0075), in the providers' own units.
 */
export function budgetConfig(env: z.output<typeof schema>) {
  return {
    /** Gmail: quota units. An application is one OAuth client of Google. */
    gmail: {
      /** Of one mailbox in one minute. */
      account: { units: env.GMAIL_UNITS_PER_ACCOUNT, seconds: 60 } as BudgetLimit,
      /** Of all mailboxes of one OAuth client in one minute. */
      application: { units: env.GMAIL_UNITS_PER_APPLICATION, seconds: 60 } as BudgetLimit,
      /** Units that reading a message costs: 20, or 5 in projects from before May 2026. */
      unitsPerRead: env.GMAIL_UNITS_PER_READ,
    },
    /** Microsoft Graph: requests. An application is one OAuth client of Microsoft. */
    graph: {
      /** For one mailbox in ten minutes. */
      account: { units: env.GRAPH_REQUESTS_PER_ACCOUNT, seconds: 600 } as BudgetLimit,
      /** Of one OAuth client in ten seconds. */
      application: { units: env.GRAPH_REQUESTS_PER_APPLICATION, seconds: 10 } as BudgetLimit,
      /** Requests of one process for one mailbox at the same time. */
      concurrent: env.GRAPH_CONCURRENT_PER_ACCOUNT,
      /** Messages that one mailbox sends in one minute. */
      messages: { units: env.GRAPH_MESSAGES_PER_ACCOUNT, seconds: 60 } as BudgetLimit,
    },
  };
}

export type BudgetConfig = ReturnType<typeof budgetConfig>;
