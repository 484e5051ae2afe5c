/*
 * The messages between the sink's process and the tests. This file has types only, so that Node can
 * erase them when it runs the process.
 */

/**
 * How the sink treats mail from now on. Shares are probabilities between 0 and 1. A field that is
 * left out is 0.
 */
export interface SinkBehaviour {
  /** Seed of the random generator. The same seed gives the same numbers in the same order. */
  seed: number;
  /**
   * Shortest and longest time between the final dot and the 250, in milliseconds. The message is
   * accepted at a random point of that time.
   */
  delayMs: readonly [number, number];
  /** Share of recipients answered with 450, as greylisting does. */
  deferRecipient: number;
  /** Share of messages whose connection is reset when content begins to arrive. */
  cutInData: number;
  /**
   * Share of messages whose connection is reset after the final dot. Every second one is accepted
   * before.
   */
  cutAfterDot: number;
  /** Share of messages whose final dot is never answered. Every second one is accepted. */
  silentAfterDot: number;
  /** Sender addresses whose MAIL command is not answered until `release`. */
  hang: readonly string[];
}

/** A message as it was when the sink accepted it. */
export interface AcceptedMessage {
  /** Message-ID of the header, with the angle brackets. */
  messageId: string;
  /** Address in MAIL FROM. */
  from: string;
  recipients: string[];
  subject: string;
  /** Milliseconds since 1970, by the sink's clock. */
  at: number;
}

/** Faults that the sink has caused. */
export type SinkFault =
  | 'deferred'
  | 'cut in DATA'
  | 'cut after dot, accepted'
  | 'cut after dot, not accepted'
  | 'silent after dot, accepted'
  | 'silent after dot, not accepted'
  | 'hung';

/** Counters of the sink. */
export interface SinkCounts {
  /** Number of accepted messages, repetitions included. */
  accepted: number;
  /** The same number by sender address. */
  bySender: Record<string, number>;
  faults: Partial<Record<SinkFault, number>>;
  /** Number of transactions that hang now. */
  hanging: number;
}
