import type { ApiUseState } from '../../../src/operator/api-use/api-use.ts';
import type { ApiUseList } from '../../../src/operator/api-use/operator-api-use.ts';
import type { ApplicationCeiling } from '../../../src/operator/api-use/operator-ceilings.ts';

/** What an application uses of Gmail: 85 % of its ceiling today. */
export function apiUseSample(
  text: (words: string) => string,
  changed: Partial<ApiUseState> = {},
): ApiUseState {
  return {
    application: {
      id: '019aa1b2-0000-7000-8000-000000000002',
      clientId: 'acme',
      name: text('Acme CRM'),
    },
    company: 'google',
    api: 'gmail',
    counts: 'units',
    today: 51_000_000,
    month: 900_000_000,
    perDay: 50_000_000,
    monthForecast: 1_250_000_000,
    ceiling: 60_000_000,
    freePerDay: 80_000_000,
    paid: 0,
    paidForecast: 0,
    costForecast: null,
    ...changed,
  };
}

/** The use of one application on its page. */
export function apiUseListSample(now: Date, text: (words: string) => string): ApiUseList {
  const graph = apiUseSample(text, {
    company: 'microsoft',
    api: 'microsoft-graph',
    counts: 'requests',
    ceiling: null,
    freePerDay: null,
  });
  const paid = apiUseSample(text, { paidForecast: 90_000_000, costForecast: 45 });
  return {
    at: now,
    monthEndsAt: now,
    pricesCheckedOn: '2026-11-27',
    items: [apiUseSample(text), graph, paid],
  };
}

/** The ceilings of one application: one of its own, and one that is not set. */
export function ceilingSamples(): ApplicationCeiling[] {
  const applicationId = '019aa1b2-0000-7000-8000-000000000002';
  return [
    { applicationId, api: 'gmail', ceiling: 60_000_000, isOwn: true },
    { applicationId, api: 'microsoft-graph', ceiling: null, isOwn: false },
  ];
}
