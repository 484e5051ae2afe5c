import type { UrlOptions } from '../common/egress/egress-policy.ts';

/** Addresses of webhook reminders: any public one (spec 4.5 rule 8), so plain http too. */
export const REMINDER_ADDRESS: UrlOptions = { plainHttp: true };
