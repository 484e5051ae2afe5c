/** Providers an integration can be registered for (api facts 2) and the sandbox. */
export const PROVIDER_NAMES = ['sandbox', 'google', 'microsoft', 'imap'] as const;

/** Provider of accounts that are virtual calendars (api facts 3.2): there is nobody behind it, so it needs no integration. */
export const VIRTUAL_PROVIDER = 'nylas';

export type ProviderName = (typeof PROVIDER_NAMES)[number] | typeof VIRTUAL_PROVIDER;
