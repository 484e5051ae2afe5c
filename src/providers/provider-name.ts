/** Providers an integration can be registered for (api facts 2) and the sandbox. */
export const PROVIDER_NAMES = ['sandbox', 'google', 'microsoft', 'imap'] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];
