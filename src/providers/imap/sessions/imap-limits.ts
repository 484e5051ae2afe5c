import { ANSWER_LIMITS, type AnswerLimits } from './imap-input.ts';

/**
 * Limits of connections to IMAP servers. Times are in milliseconds; numbers of connections are per
 * process.
 */
export interface ImapLimits {
  /** For DNS, connection and TLS. Default 15000. The greeting gets the same time again. */
  connectMs: number;
  /** How long a server may be silent while a reply is due. Default 60000. */
  silenceMs: number;
  /** For one whole use of a connection. Default 600000. */
  useMs: number;
  /** How long a use waits for a free connection. Default 60000. */
  queueMs: number;
  /** How long an unused connection is kept. Default 30000. */
  idleMs: number;
  /** A kept connection that was unused for longer is probed with NOOP before use. Default 5000. */
  probeAfterMs: number;
  /** For the reply to that NOOP. Default 5000. */
  probeMs: number;
  /**
   * Connections of one account, including watches. Default 3. Many servers allow ten per user and
   * address.
   */
  perAccount: number;
  /** Connections to one host, without watches. Default 200. */
  perHost: number;
  /** Watches per host. Default 5000. */
  watchesPerHost: number;
  /**
   * How long a watch stays in IDLE before it is renewed. Default 1500000: servers may end IDLE
   * after 30 minutes (RFC 2177 section 3).
   */
  watchRenewMs: number;
  /** A watched connection that was silent for this time is probed. Default 300000. */
  watchSilenceMs: number;
  /** How much servers may send. Default `ANSWER_LIMITS`. */
  answers: AnswerLimits;
  /** Certificate authorities to trust instead of the system's (PEM). */
  ca?: string;
}

/** The default limits. */
export const IMAP_LIMITS: ImapLimits = {
  connectMs: 15_000,
  silenceMs: 60_000,
  useMs: 600_000,
  queueMs: 60_000,
  idleMs: 30_000,
  probeAfterMs: 5_000,
  probeMs: 5_000,
  perAccount: 3,
  perHost: 200,
  watchesPerHost: 5_000,
  watchRenewMs: 1_500_000,
  watchSilenceMs: 300_000,
  answers: ANSWER_LIMITS,
};
