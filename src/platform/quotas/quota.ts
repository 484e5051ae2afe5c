/* Types and pure functions of quotas. */

/** Kinds of use that are counted (docs/adr/0060). */
export const QUOTAS = ['sms', 'reminders', 'meetings'] as const;
export type Quota = (typeof QUOTAS)[number];

/** Whose use is limited. Each quota has a limit per account and one per application. */
export const QUOTA_OWNERS = ['account', 'application'] as const;
export type QuotaOwner = (typeof QUOTA_OWNERS)[number];

/** Names of the quotas in error texts. */
const NAMES: Readonly<Record<Quota, string>> = {
  sms: 'text messages',
  reminders: 'reminders',
  meetings: 'online meetings',
};

/** A quota whose limit is reached. */
export interface UsedUp {
  quota: Quota;
  per: QuotaOwner;
  limit: number;
  /** When the count starts again. */
  until: Date;
}

/** One use that is about to be made. */
export interface Use {
  accountId: string;
  applicationId: string;
  /** All quotas that this use counts for. */
  quotas: readonly Quota[];
}

const DAY_MS = 86_400_000;

/** The day in UTC that a use at `at` counts for, such as `2026-11-22`. */
export function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}

/** Start and end of the UTC day of `at`. */
export function windowOf(at: Date): { start: Date; end: Date } {
  const start = at.getTime() - (at.getTime() % DAY_MS);
  return { start: new Date(start), end: new Date(start + DAY_MS) };
}

/** Error text for the user: which limit is used up, and when the count starts again. */
export function refusalOf({ quota, per, limit, until }: UsedUp): string {
  const again = until.toISOString().replace('.000Z', 'Z');
  return `quota ${quota}: the ${per} has used the ${limit} ${NAMES[quota]} it may use in a day; the count starts again at ${again}`;
}
