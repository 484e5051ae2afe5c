import { whenNeeded } from '../../../platform/base/when-needed.ts';

/** The list of public suffixes takes 1 MB. */
const tldts = whenNeeded(import.meta.url, (require) => require('tldts') as typeof import('tldts'));

/**
 * The part of a host name that one owner has registered: `example.co.uk` for `mail.example.co.uk`.
 * Uses the Public Suffix List, including suffixes of companies whose customers get names below them
 * (`github.io`).
 * @returns `null` for IP addresses, single labels, and public suffixes
 */
export function registrableDomain(host: string): string | null {
  return tldts().getDomain(host, { allowPrivateDomains: true });
}
