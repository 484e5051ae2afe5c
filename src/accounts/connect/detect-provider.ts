import type { MailDiscovery } from '../../providers/port/mail-discovery.ts';

/** What is known of the provider of an address. */
export interface DetectedProvider {
  detected: boolean;
  /** Provider names of `/connect/authorize`; null: not known. */
  providerName: string | null;
  /** Whether it is reached by IMAP and SMTP with a password. */
  isImap: boolean;
}

const UNKNOWN: DetectedProvider = { detected: false, providerName: null, isImap: false };

/**
 * The provider of an address: at once for domains in our tables (`sandbox.test` and what is below it is the sandbox), within ten
 * seconds for others, whose servers are looked for.
 * @param sandbox whether accounts of the sandbox can be connected: it is not named otherwise
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
