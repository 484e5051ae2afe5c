/** What is known of the provider of an address. */
export interface DetectedProvider {
  detected: boolean;
  /** Provider names of `/connect/authorize`; null: not known. */
  providerName: string | null;
  /** Whether it is reached by IMAP and SMTP with a password. */
  isImap: boolean;
}

type Known = Omit<DetectedProvider, 'detected'>;

const gmail: Known = { providerName: 'gmail', isImap: false };
const outlook: Known = { providerName: 'outlook', isImap: false };
const hotmail: Known = { providerName: 'hotmail', isImap: false };
const office365: Known = { providerName: 'office365', isImap: false };
const icloud: Known = { providerName: 'icloud', isImap: true };
const yahoo: Known = { providerName: 'yahoo', isImap: true };
const aol: Known = { providerName: 'aol', isImap: true };

const BY_DOMAIN: Readonly<Record<string, Known>> = {
  'sandbox.test': { providerName: 'sandbox', isImap: false },
  'gmail.com': gmail,
  'googlemail.com': gmail,
  'outlook.com': outlook,
  'live.com': outlook,
  'msn.com': outlook,
  'hotmail.com': hotmail,
  'hotmail.co.uk': hotmail,
  'hotmail.de': hotmail,
  'hotmail.fr': hotmail,
  'icloud.com': icloud,
  'me.com': icloud,
  'mac.com': icloud,
  'yahoo.com': yahoo,
  'yahoo.co.uk': yahoo,
  'yahoo.de': yahoo,
  'yahoo.fr': yahoo,
  'ymail.com': yahoo,
  'rocketmail.com': yahoo,
  'aol.com': aol,
};

/** Looks at the domain alone; asks nobody. `*.onmicrosoft.com` is office365, subdomains of `sandbox.test` are sandbox. */
export function detectProvider(email: string): DetectedProvider {
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
  const known =
    (Object.hasOwn(BY_DOMAIN, domain) ? BY_DOMAIN[domain] : undefined) ??
    (domain.endsWith('.sandbox.test') ? BY_DOMAIN['sandbox.test'] : undefined) ??
    (domain.endsWith('.onmicrosoft.com') ? office365 : undefined);
  return known ? { detected: true, ...known } : { detected: false, providerName: null, isImap: false };
}
