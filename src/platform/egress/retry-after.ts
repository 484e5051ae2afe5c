/**
 * The instant a `Retry-After` header names, as seconds or as an HTTP date (RFC 9110 10.2.3).
 * @returns null when it is absent or makes no sense
 */
export function parseRetryAfter(value: string | null, now: Date): Date | null {
  if (value === null) return null;
  if (/^\s*\d{1,9}\s*$/.test(value)) return new Date(now.getTime() + Number(value) * 1000);
  // Only dates: `Date.parse` would also take "1.5" or "-3".
  if (!/^[A-Za-z]{3,9},? /.test(value)) return null;
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : new Date(at);
}

/** The same as whole seconds from `now`, rounded up; null where `parseRetryAfter` says null. */
export function secondsToWait(value: string | null, now: Date): number | null {
  const at = parseRetryAfter(value, now);
  return at && Math.ceil((at.getTime() - now.getTime()) / 1000);
}
