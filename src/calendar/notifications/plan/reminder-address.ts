import type { UrlOptions } from '../../../platform/egress/egress-policy.ts';

/** URL rules for webhook reminders: any public address is allowed, also with plain http. */
export const REMINDER_ADDRESS: UrlOptions = { plainHttp: true };
