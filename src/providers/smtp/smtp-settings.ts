/** A mail server that accepts SMTP submission (RFC 6409), with the login to use there. */
export interface SmtpServer {
  /** Name or address; an IPv6 address without brackets. */
  host: string;
  port: number;
  /**
   * `tls`: encrypted from the first byte (RFC 8314). `starttls`: upgraded before any other command;
   * without the upgrade the server is not used. `none`: never encrypted; credentials are then sent
   * only to hosts on the operator's allow-list.
   */
  security: 'tls' | 'starttls' | 'none';
  /**
   * Password, or OAuth 2 access token (XOAUTH2). `null` if the server accepts mail without a login.
   */
  login: { user: string; password: string } | { user: string; accessToken: string } | null;
}

/** Limits of exchanges with mail servers. Times in milliseconds. */
export interface SmtpLimits {
  /** For DNS, connection, TLS and greeting together. Default 15000. */
  connectMs: number;
  /**
   * For the reply to EHLO, for the login, or for the whole envelope of a message (plus a tenth per
   * recipient). Default 60000.
   */
  commandMs: number;
  /**
   * For the content, from the first to the last byte. Default 600000. Each 64 kB must also be sent
   * within `commandMs`.
   */
  contentMs: number;
  /**
   * For the reply to the content. Default 120000. RFC 5321 section 4.5.3.2.6 asks for ten minutes,
   * because a client that gives up early and repeats the message delivers it twice. Here giving up
   * early leads to an unknown outcome, which is looked up before the message is repeated. Each
   * waiting message also occupies one of the few slots of its worker.
   */
  confirmationMs: number;
  /** How long an unused connection is kept. Default 20000. */
  idleMs: number;
  /** Connections kept per key and server for `idleMs`. Default 4. */
  keptPerKey: number;
  /** How long connections beyond `keptPerKey` are kept. Default 1000. */
  furtherIdleMs: number;
  /**
   * Connections kept altogether. Default 256. When the limit is exceeded, the one unused for
   * longest is closed.
   */
  kept: number;
  /**
   * Messages sent over one connection. Default 100. Servers have such limits too, and report them
   * as errors.
   */
  messagesPerConnection: number;
  /**
   * Client name sent in EHLO. Absent: the name of the machine if it is fully qualified, otherwise
   * an address literal.
   */
  name?: string;
  /** Certificate authorities to trust instead of the system's (PEM). */
  ca?: string;
}

/** The default limits. */
export const SMTP_LIMITS: SmtpLimits = {
  connectMs: 15_000,
  commandMs: 60_000,
  contentMs: 600_000,
  confirmationMs: 120_000,
  idleMs: 20_000,
  keptPerKey: 4,
  furtherIdleMs: 1_000,
  kept: 256,
  messagesPerConnection: 100,
};
