import { z } from 'zod';
import { wholeNumber } from '../whole-number.ts';

const MOST = 1_000_000_000_000;

const count = (fallback: number) => wholeNumber(0, MOST).default(fallback);

const price = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,6})?$/, 'must be a number such as 0.25')
  .transform(Number);

const day = z
  .string()
  .refine(
    (value) => /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(`${value}T00:00:00Z`)),
    'must be a date such as 2026-11-27',
  );

/** The variables about what calls of companies' APIs cost; part of `budgetVariables`. */
export const apiUseVariables = {
  QUOTA_APPLICATION_GMAIL_UNITS: count(0),
  QUOTA_APPLICATION_GRAPH_REQUESTS: count(0),
  GMAIL_FREE_UNITS_PER_DAY: count(80_000_000),
  GMAIL_PRICE_PER_MILLION_UNITS: price.optional(),
  GMAIL_PRICES_CHECKED: day.default('2026-11-27'),
};

const schema = z.object(apiUseVariables);

/** What calls of companies' APIs may use and cost (docs/adr/0125). A day is a day in UTC. */
export function apiUseConfig(env: z.output<typeof schema>) {
  return {
    /** What one application may use in a day, by API; 0 = no ceiling. */
    ceilings: {
      /** Quota units. */
      gmail: env.QUOTA_APPLICATION_GMAIL_UNITS,
      /** Requests. */
      'microsoft-graph': env.QUOTA_APPLICATION_GRAPH_REQUESTS,
    },
    gmailPrices: {
      /** Units that a project may use in a day before Google charges for more. */
      freeUnitsPerDay: env.GMAIL_FREE_UNITS_PER_DAY,
      /** Price of a million further units in the currency of the bill; `null` = not known. */
      perMillionUnits: env.GMAIL_PRICE_PER_MILLION_UNITS ?? null,
      /**
       * Day on which somebody compared these values, and the units of each call (`gmailCosts`),
       * with Google's page, such as `2026-11-27`.
       */
      checkedOn: env.GMAIL_PRICES_CHECKED,
    },
  };
}

export type ApiUseConfig = ReturnType<typeof apiUseConfig>;
