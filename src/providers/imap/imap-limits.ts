import { ANSWER_LIMITS, type AnswerLimits } from './imap-input.ts';

/** Limits of connections to IMAP servers. Times in milliseconds; numbers of connections are per process. */
export interface ImapLimits {
  /** For the name, the connection and TLS; default 15000. As much again for the greeting. */
  connectMs: number;
  /** How long a server may be silent while it owes an answer; default 60000. */
  silenceMs: number;
  /** For one use of a connection as a whole; default 600000. */
  useMs: number;
  /** How long a use waits for one of the connections there may be; default 60000. */
  queueMs: number;
  /** How long a connection nobody uses is kept; default 30000. */
  idleMs: number;
  /** A kept connection that was unused for longer is asked whether it is alive; default 5000. */
  probeAfterMs: number;
  /** For the answer to that; default 5000. */
  probeMs: number;
  /** Connections of one account, those that watch included; default 3. Many servers allow ten per user and address. */
  perAccount: number;
  /** Connections to one host, those that watch not counted; default 200. */
  perHost: number;
  /** Connections to one host that watch; default 5000. */
  watchesPerHost: number;
  /** How long a watch waits in IDLE until it asks anew; default 1500000: servers may end it after 30 minutes (RFC 2177 3). */
  watchRenewMs: number;
  /** A watched connection that was silent for so long is asked whether it is alive; default 300000. */
  watchSilenceMs: number;
  /** How much servers may answer; default `ANSWER_LIMITS`. */
  answers: AnswerLimits;
  /** Certificate authorities to trust instead of the system's (PEM). */
  ca?: string;
}

/** Used where a limit is not given. */
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
