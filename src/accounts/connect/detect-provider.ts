import type { MailDiscovery } from '../../providers/port/mail-discovery.ts';

/** The provider of an address, as far as it was detected. */
export interface DetectedProvider {
  detected: boolean;
  /** Provider name for `/connect/authorize`; `null` if unknown. */
  providerName: string | null;
  /** Whether the provider is used by IMAP and SMTP with a password. */
  isImap: boolean;
}

const UNKNOWN: DetectedProvider = { detected: false, providerName: null, isImap: false };

/**
 * Detects the provider of an address. Well-known domains are answered at once; `sandbox.test` and
 * its subdomains are the sandbox. For other domains the search for servers takes up to ten seconds.
 * @param sandbox whether accounts of the sandbox can be connected; otherwise the sandbox is not
 *   named
 */
export async function detectProvider(
  email: string,
  discovery: MailDiscovery,
  sandbox: boolean,
): Promise<DetectedProvider> {
  if (sandbox && /[@.]sandbox\.test$/i.test(email))
    return { detected: true, providerName: 'sandbox', isImap: false };
  const { known, candidates } = await discovery.discover(email);
  if (known)
    return { detected: true, providerName: known.providerName, isImap: known.oauth === null };
  return candidates.length > 0 ? { detected: true, providerName: 'imap', isImap: true } : UNKNOWN;
}
