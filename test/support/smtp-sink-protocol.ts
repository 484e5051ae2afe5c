/*
 * What the sink's process and the tests say to each other. Types only: erased when Node runs the process.
 */

/** How the sink treats mail from now on; shares are probabilities between 0 and 1. What is left out is 0. */
export interface SinkBehaviour {
  /** Start of the dice: the same seed throws the same numbers in the same order. */
  seed: number;
  /**
   * Milliseconds between the final dot and the 250, at least and at most; acceptance lies at a random point between the
   * two.
   */
  delayMs: readonly [number, number];
  /** Share of recipients answered 450, as greylisting does. */
  deferRecipient: number;
  /** Share of messages whose connection is reset when content has begun to arrive. */
  cutInData: number;
  /** Share of messages whose connection is reset after the final dot; every second one has been accepted. */
  cutAfterDot: number;
  /** Share of messages whose final dot is never answered; every second one has been accepted. */
  silentAfterDot: number;
  /** Sender addresses that get no answer to MAIL until `release`. */
  hang: readonly string[];
}

/** A message as it was when the sink committed itself to it. */
export interface AcceptedMessage {
  /** Of the header, with the angle brackets. */
  messageId: string;
  /** Address of MAIL FROM. */
  from: string;
  recipients: string[];
  subject: string;
  /** Milliseconds since 1970, by the sink's clock. */
  at: number;
}

/** Faults the sink has made. */
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
  /** Messages accepted, repetitions included. */
  accepted: number;
  /** The same by sender address. */
  bySender: Record<string, number>;
  faults: Partial<Record<SinkFault, number>>;
  /** Transactions that hang now. */
  hanging: number;
}
