/**
 * How a connection to a mail server is protected. Values of the settings `imap_security` and
 * `smtp_security`.
 */
type DiscoveredSecurity = 'tls' | 'starttls';

/**
 * The servers of a mail address, under the setting names of an `imap` account. Never contains a
 * secret.
 */
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
 * Where servers were found, most trustworthy first:
 * - `preset`: Carillon's own table, by the domain of the address;
 * - `mx`: the same table, by the domain's mail exchanger;
 * - `autoconfig`: the domain's configuration file for Thunderbird;
 * - `srv`: SRV records;
 * - `ispdb`: an ISPDB;
 * - `guess`: usual host names.
 */
export const DISCOVERY_SOURCES = ['preset', 'mx', 'autoconfig', 'srv', 'ispdb', 'guess'] as const;
export type DiscoverySource = (typeof DISCOVERY_SOURCES)[number];

/** A mail provider listed in Carillon's own table. */
export interface KnownMailProvider {
  /** Name of the preset, as accepted by the setting `preset`. */
  preset: string;
  /** Name shown to users. */
  title: string;
  /** The provider's own name in sign-in: `gmail`, `yahoo`, …; `imap` if it has none. */
  providerName: string;
  /**
   * Name of the connector whose OAuth sign-in this provider prefers to a password. `null` if it
   * accepts passwords only.
   */
  oauth: string | null;
  /** What users have to know before they sign in with a password. `null` if there is nothing. */
  hint: string | null;
}

/** Servers that may belong to an address. */
export interface MailCandidate {
  source: DiscoverySource;
  servers: MailServers;
  /**
   * Whether the user has to agree before a password is sent to these servers. True if the servers
   * are outside the domain of the address and only unauthenticated DNS links them to it (RFC 6186
   * section 6).
   */
  confirm: boolean;
}

/** What discovery found out about an address. */
export interface DiscoveredMail {
  known: KnownMailProvider | null;
  /** Most trustworthy first. Empty if nothing was found. */
  candidates: readonly MailCandidate[];
}

/** Finds the servers of mail addresses. Never throws and never needs a secret. */
export abstract class MailDiscovery {
  /** The table entry for the domain of the address, or `null` if there is none. Uses no network. */
  abstract known(email: string): KnownMailProvider | null;
  /**
   * Finds candidates for the address. Known domains are answered from the table at once. For other
   * domains DNS and the domain's servers are queried, for ten seconds at most.
   */
  abstract discover(email: string): Promise<DiscoveredMail>;
}
