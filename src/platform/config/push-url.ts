import { isIP } from 'node:net';

/** Names that no provider on the internet can resolve (RFC 6761, RFC 6762, RFC 8375). */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|lan|home\.arpa|test|invalid)$/i;

/** Whether an address looks as if it could be reached over https from the internet. */
function isPublic(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  const isName = isIP(hostname.replace(/^\[|\]$/g, '')) === 0;
  return protocol === 'https:' && isName && hostname.includes('.') && !PRIVATE_NAME.test(hostname);
}

/**
 * The public https address at which providers reach this server: `PUSH_URL`, or `BASE_URL` if it
 * is an https address with a public name.
 * @param problems gets a text if `PUSH_URL` is not an https address
 * @returns `null` if there is none
 */
export function pushUrl(
  { PUSH_URL, BASE_URL }: { PUSH_URL?: string | undefined; BASE_URL?: string | undefined },
  problems: string[],
): string | null {
  if (PUSH_URL === 'off') return null;
  if (PUSH_URL !== undefined) {
    if (!PUSH_URL.startsWith('https://'))
      problems.push('PUSH_URL: must be off, or an address that starts with https://');
    return PUSH_URL;
  }
  return BASE_URL !== undefined && isPublic(BASE_URL) ? BASE_URL : null;
}
