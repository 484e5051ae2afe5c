const HOUR_MS = 3_600_000;

/** A session ends after this time without a request, in milliseconds. */
export const SESSION_IDLE_MS = HOUR_MS;

/** A session ends this long after the sign-in, in milliseconds, even if it is used. */
export const SESSION_MS = 12 * HOUR_MS;
