/**
 * Provider name of virtual accounts, which only have calendars (docs/virtual-calendars.md). No
 * external service stands behind them, so they need no integration.
 */
export const VIRTUAL_PROVIDER = 'nylas';
