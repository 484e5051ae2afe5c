/**
 * Parses a `Retry-After` header, in seconds or as an HTTP date (RFC 9110 10.2.3).
 * @returns `null` if it is absent or invalid
 */
export function parseRetryAfter(value: string | null, now: Date): Date | null {
  if (value === null) return null;
  if (/^\s*\d{1,9}\s*$/.test(value)) return new Date(now.getTime() + Number(value) * 1000);
  // Check the form first: `Date.parse` would also accept "1.5" or "-3".
  if (!/^[A-Za-z]{3,9},? /.test(value)) return null;
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : new Date(at);
}

/** The same in whole seconds from `now`, rounded up; `null` if the header is absent or invalid. */
export function secondsToWait(value: string | null, now: Date): number | null {
  const at = parseRetryAfter(value, now);
  return at && Math.ceil((at.getTime() - now.getTime()) / 1000);
}
