import { getDomain } from 'tldts';

/**
 * The part of a host name that one owner has registered: `example.co.uk` of `mail.example.co.uk`. By the Public Suffix List, with
 * the suffixes of companies that let their customers have names below (`github.io`).
 * @returns null for addresses, single labels, and names below which anybody may have a host
 */
export function registrableDomain(host: string): string | null {
  return getDomain(host, { allowPrivateDomains: true });
}
