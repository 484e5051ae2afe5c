/** How a connection to a mail server is protected; as `imap_security` and `smtp_security`. */
type DiscoveredSecurity = 'tls' | 'starttls';

/** Servers of a mail address, under the names of the settings of an `imap` account. Never with a secret. */
export interface MailServers {
  imap_host: string;
  imap_port: number;
  imap_security: DiscoveredSecurity;
  imap_username: string;
  smtp_host: string;
  smtp_port: number;
  smtp_security: DiscoveredSecurity;
  smtp_username: string;
  smtp_files_sent?: boolean;
  caldav_url?: string;
  carddav_url?: string;
}

/**
 * Where servers were found, the most trustworthy first: our own table by the domain, or by the domain's mail exchanger;
 * Thunderbird's configuration files of the domain; SRV records; an ISPDB; names that are usual.
 */
export const DISCOVERY_SOURCES = ['preset', 'mx', 'autoconfig', 'srv', 'ispdb', 'guess'] as const;
export type DiscoverySource = (typeof DISCOVERY_SOURCES)[number];

/** A provider of mail that is in our table. */
export interface KnownMailProvider {
  /** Name of the preset, as the setting `preset` takes it. */
  preset: string;
  /** As people know it. */
  title: string;
  /** Provider name of the native sign-in: `gmail`, `yahoo`, …; `imap` where it has none of its own. */
  providerName: string;
  /** The sign-in page at the provider that it prefers to a password; null: it takes passwords only. */
  oauth: 'google' | 'microsoft' | null;
  /** What its users have to know before they sign in with a password; null: nothing. */
  hint: string | null;
}

/** Servers that may be those of an address. */
export interface MailCandidate {
  source: DiscoverySource;
  servers: MailServers;
  /**
   * Whether somebody has to agree before a password is sent there: the servers are outside the address' domain, and nothing
   * but unauthenticated DNS says that they belong to it (RFC 6186 section 6).
   */
  confirm: boolean;
}

/** What could be found out about an address. */
export interface DiscoveredMail {
  known: KnownMailProvider | null;
  /** The most trustworthy first; empty: nothing was found. */
  candidates: readonly MailCandidate[];
}

/** Finds the servers of mail addresses. Never throws, never takes a secret. */
export abstract class MailDiscovery {
  /** Looks at the domain alone; asks nobody. */
  abstract known(email: string): KnownMailProvider | null;
  /** Known domains at once; for others asks DNS and the domain's servers, at most ten seconds. */
  abstract discover(email: string): Promise<DiscoveredMail>;
}
