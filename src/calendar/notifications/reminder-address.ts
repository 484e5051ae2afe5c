import type { UrlOptions } from '../../platform/egress/egress-policy.ts';

/** Addresses of webhook reminders; every public one will do (spec 4.5 rule 8), so plain http too. */
export const REMINDER_ADDRESS: UrlOptions = { plainHttp: true };
