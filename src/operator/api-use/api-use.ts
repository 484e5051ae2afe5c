import type { CompanyApi } from '../../platform/budgets/company-api.ts';
import type { ApiUseConfig } from '../../platform/config/sections/api-use-config.ts';

/* Types and pure functions about what applications use of companies' APIs (docs/adr/0125). */

/** Complete days before today whose average is the pace of a forecast. */
export const PACE_DAYS = 7;

/** From this share of a ceiling on, background work stops: an operator should know. */
export const NEAR_CEILING = 0.8;

const DAY_MS = 86_400_000;
/** A forecast from less than an hour would say nothing. */
const LEAST_SHARE_OF_DAY = 1 / 24;

/** What the database has counted for one application and API. Numbers in units. */
export interface CountedUse {
  application: { id: string; clientId: string; name: string };
  api: CompanyApi;
  today: number;
  /** Since the first of the month (UTC), today included. */
  month: number;
  /** Above the free threshold of each day, on the days of this month before today. */
  paidBefore: number;
  /** Of the last complete days, and how many of them there are since the first use. */
  recent: number;
  recentDays: number;
  /** Set by an operator for this application, 0 = no ceiling; `null`: the setting applies. */
  ownCeiling: number | null;
}

/** What an application uses of an API, and what that will be at the end of the month. */
export interface ApiUseState extends Omit<
  CountedUse,
  'paidBefore' | 'recent' | 'recentDays' | 'ownCeiling'
> {
  company: 'google' | 'microsoft';
  /** What the numbers count: `units` are the company's quota units. */
  counts: 'units' | 'requests';
  /** Average of a day, from the last seven complete days; from today if there is none. */
  perDay: number;
  /** Expected for the whole month (UTC) at this pace. */
  monthForecast: number;
  /** What the application may use in a day; `null` if it has no ceiling. */
  ceiling: number | null;
  /** Units a day that are free; `null` if the company does not charge for this API. */
  freePerDay: number | null;
  /** Units of the month above `freePerDay` until now, and expected at its end. */
  paid: number;
  paidForecast: number;
  /** Price of `paidForecast` in the currency of the bill; `null` if no price is set. */
  costForecast: number | null;
}

/** The free units of a day; `null` for an API that costs nothing. */
export const freeUnitsOf = (
  api: CompanyApi,
  { gmailPrices }: Pick<ApiUseConfig, 'gmailPrices'>,
): number | null => (api === 'gmail' ? gmailPrices.freeUnitsPerDay : null);

/** Start of the month of `now`, and of the month after it, in UTC. */
export function monthOf(now: Date): { start: Date; end: Date } {
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  return { start: new Date(Date.UTC(year, month)), end: new Date(Date.UTC(year, month + 1)) };
}

/** Adds the forecast to what was counted until `now`. */
export function forecastOf(
  { paidBefore, recent, recentDays, ownCeiling, ...counted }: CountedUse,
  now: Date,
  config: ApiUseConfig,
  about: Pick<ApiUseState, 'company' | 'counts'>,
): ApiUseState {
  const ceilings: Partial<Record<CompanyApi, number>> = config.ceilings;
  const freePerDay = freeUnitsOf(counted.api, config);
  const shareOfDay = Math.max(LEAST_SHARE_OF_DAY, (now.getTime() % DAY_MS) / DAY_MS);
  const perDay = Math.round(recentDays > 0 ? recent / recentDays : counted.today / shareOfDay);
  const daysLeft = Math.ceil((monthOf(now).end.getTime() - now.getTime()) / DAY_MS) - 1;
  const wholeToday = Math.max(counted.today, perDay);
  const paidOn = (units: number): number =>
    freePerDay === null ? 0 : Math.max(0, units - freePerDay);
  const paidForecast = paidBefore + paidOn(wholeToday) + paidOn(perDay) * daysLeft;
  const { perMillionUnits } = config.gmailPrices;
  const hasPrice = freePerDay !== null && perMillionUnits !== null;
  return {
    ...counted,
    ...about,
    perDay,
    monthForecast: counted.month - counted.today + wholeToday + perDay * daysLeft,
    ceiling: (ownCeiling ?? ceilings[counted.api]) || null,
    freePerDay,
    paid: paidBefore + paidOn(counted.today),
    paidForecast,
    costForecast: hasPrice ? (paidForecast / 1_000_000) * perMillionUnits : null,
  };
}

/** The share of its ceiling that an application has used today; 0 without a ceiling. */
export const ceilingShare = ({ today, ceiling }: ApiUseState): number =>
  ceiling === null ? 0 : today / ceiling;
