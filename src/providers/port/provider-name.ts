/** Providers that an integration can be registered for, and the sandbox. */
export const PROVIDER_NAMES = ['sandbox', 'google', 'microsoft', 'imap'] as const;

/**
 * Provider name of virtual accounts, which only have calendars (docs/virtual-calendars.md). No
 * external service stands behind them, so they need no integration.
 */
export const VIRTUAL_PROVIDER = 'nylas';

/** Name of a connector. */
export type ProviderName = string;
