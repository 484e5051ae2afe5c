import { getDomain } from 'tldts';

/**
 * The part of a host name that one owner has registered: `example.co.uk` for `mail.example.co.uk`.
 * Uses the Public Suffix List, including suffixes of companies whose customers get names below them
 * (`github.io`).
 * @returns `null` for IP addresses, single labels, and public suffixes
 */
export function registrableDomain(host: string): string | null {
  return getDomain(host, { allowPrivateDomains: true });
}
