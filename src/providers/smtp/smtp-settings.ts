/** A mail server that takes mail by SMTP submission (RFC 6409), and who we are there. */
export interface SmtpServer {
  /** Name or address; an IPv6 address without brackets. */
  host: string;
  port: number;
  /**
   * `tls`: encrypted from the first byte (RFC 8314). `starttls`: upgraded before anything else is said, or not used at
   * all. `none`: never encrypted; credentials are then given to hosts on the operator's allow-list only.
   */
  security: 'tls' | 'starttls' | 'none';
  /** Password, or an OAuth 2 access token (XOAUTH2); null: the server takes mail without a login. */
  login: { user: string; password: string } | { user: string; accessToken: string } | null;
}

/** Limits of exchanges with mail servers. Times in milliseconds. */
export interface SmtpLimits {
  /** For the name, the connection, TLS and the greeting, altogether; default 15000. */
  connectMs: number;
  /** For the answer to EHLO, the login, or the whole envelope of a message (a tenth more per recipient); default 60000. */
  commandMs: number;
  /** For the content, from the first to the last byte; default 600000. Each 64 kB have to leave within `commandMs`. */
  contentMs: number;
  /**
   * For the answer to the content; default 120000. RFC 5321 4.5.3.2.6 asks for ten minutes, because a message that is
   * repeated after an early end is delivered twice. Here an early end is an unknown outcome, which is looked up before
   * anything is repeated; and each message that waits holds one of the few slots of its worker.
   */
  confirmationMs: number;
  /** How long a connection nobody uses is kept; default 20000. */
  idleMs: number;
  /** Connections kept per key and server for `idleMs`; default 4. */
  keptPerKey: number;
  /** How long further ones are kept; default 1000. */
  surplusMs: number;
  /** Connections kept altogether; default 256. The one unused for longest goes first. */
  kept: number;
  /** Messages of one connection; default 100. Servers have such limits, too, and say so with an error. */
  messagesPerConnection: number;
  /** What we call ourselves in EHLO; absent: the name of the machine if it is a full one, else an address literal. */
  name?: string;
  /** Certificate authorities to trust instead of the system's (PEM). */
  ca?: string;
}

/** Used where a limit is not given. */
export const SMTP_LIMITS: SmtpLimits = {
  connectMs: 15_000,
  commandMs: 60_000,
  contentMs: 600_000,
  confirmationMs: 120_000,
  idleMs: 20_000,
  keptPerKey: 4,
  surplusMs: 1_000,
  kept: 256,
  messagesPerConnection: 100,
};
