import { z } from 'zod';
import { apiUseConfig, apiUseVariables } from './api-use-config.ts';
import { gmailCosts, gmailCostVariables } from './gmail-costs.ts';
import { wholeNumber } from '../whole-number.ts';

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

/** Messages of Gmail that are read together. */
const READ_TOGETHER = 40;
/** The share of a limit that may be used at once. */
const AT_ONCE = 0.25;
/**
 * The units that may be used at once must suffice for the dearest step: messages that are read
 * together, at 20 units each.
 */
const LEAST_UNITS = (READ_TOGETHER * 20) / AT_ONCE;
/** As above, for steps that take one. */
const LEAST_REQUESTS = 4;

const count = (fallback: number, least = 1) => wholeNumber(least, MOST).default(fallback);

/** The variables of budgets; they are part of `environmentSchema`. */
export const budgetVariables = {
  ...gmailCostVariables,
  ...apiUseVariables,
  /** Default: that of `GMAIL_PROJECT`. */
  GMAIL_UNITS_PER_ACCOUNT: wholeNumber(LEAST_UNITS, MOST).optional(),
  GMAIL_UNITS_PER_APPLICATION: count(1_200_000, LEAST_UNITS),
  GRAPH_REQUESTS_PER_ACCOUNT: count(10_000, LEAST_REQUESTS),
  GRAPH_REQUESTS_PER_APPLICATION: count(130_000, LEAST_REQUESTS),
  GRAPH_CONCURRENT_PER_ACCOUNT: count(4),
  GRAPH_MESSAGES_PER_ACCOUNT: count(30, LEAST_REQUESTS),
};

const schema = z.object(budgetVariables);

/**
 * Limits of providers that our requests stay below (docs/adr/0075), in the providers' own units.
 * @param problems gets one if a mailbox may not use enough units at once for the costs
 */
export function budgetConfig(env: z.output<typeof schema>, problems: string[]) {
  const { costs, unitsPerAccount } = gmailCosts(env);
  const perAccount = env.GMAIL_UNITS_PER_ACCOUNT ?? unitsPerAccount;
  const dearest = Math.max(READ_TOGETHER * costs['messages.get'], ...Object.values(costs));
  const least = Math.ceil(dearest / AT_ONCE);
  if (Math.min(perAccount, env.GMAIL_UNITS_PER_APPLICATION) < least)
    problems.push(
      `GMAIL_UNIT_COSTS: at these costs, GMAIL_UNITS_PER_ACCOUNT and GMAIL_UNITS_PER_APPLICATION must be at least ${least}`,
    );
  return {
    /** What calls of companies' APIs may use and cost in a day. */
    apiUse: apiUseConfig(env),
    /** Gmail: quota units. An application is one OAuth client of Google. */
    gmail: {
      /** Of one mailbox in one minute. */
      account: { units: perAccount, seconds: 60 } as BudgetLimit,
      /** Of all mailboxes of one OAuth client in one minute. */
      application: { units: env.GMAIL_UNITS_PER_APPLICATION, seconds: 60 } as BudgetLimit,
      /** What one call of each method uses. */
      costs,
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
