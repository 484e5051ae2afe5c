import { z } from 'zod';

/**
 * Number of trusted proxies counted from this server, or the addresses and ranges of trusted
 * proxies; `false` = no proxy is trusted.
 */
export type TrustedProxies = false | number | readonly string[];

const MOST_HOPS = 10;
/** Named ranges that the HTTP framework expands. */
const NAMED_RANGES: readonly string[] = ['loopback', 'linklocal', 'uniquelocal'];
const range = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);
const EXPLANATION =
  'must be the number of proxies in front of this listener (1 to 10), or their IP addresses or CIDR ranges, separated by commas, or false. true is not accepted: every client could then choose its own address';

function parse(value: string): TrustedProxies | undefined {
  if (value === 'false' || value === '0') return false;
  if (/^\d+$/.test(value)) return Number(value) <= MOST_HOPS ? Number(value) : undefined;
  const proxies = value.split(',').map((entry) => entry.trim());
  return proxies.every((entry) => NAMED_RANGES.includes(entry) || range.safeParse(entry).success)
    ? proxies
    : undefined;
}

/**
 * The variables `TRUST_PROXY` and `OPERATOR_TRUST_PROXY`. Default: no proxy is trusted, and the
 * address of the connection counts as the client's address.
 */
export const trustedProxies = z
  .string()
  .trim()
  .optional()
  .transform((value, context): TrustedProxies => {
    const proxies = value === undefined ? false : parse(value);
    if (proxies !== undefined) return proxies;
    context.addIssue({ code: 'custom', message: EXPLANATION });
    return z.NEVER;
  });
