/* Looking up whether a message was sent, after its outcome became unknown (`MailPort.findSent`). */

/** What is known of a message that is looked up, besides its Message-ID. */
export interface SentTraces {
  /** Addresses of all recipients, those of Bcc included. */
  recipients: readonly string[];
  /** `null` if it is not at hand: every subject may then be that of the message. */
  subject: string | null;
  /** No attempt was made before this time. */
  since: Date;
}

/** Result of a look-up of a sent message. */
export interface SentLookup {
  found: boolean;
  /**
   * Whether `found: false` proves that the message was not sent. That is a claim about the
   * provider, which must have one of two reasons. The provider is seen to keep a mark that the
   * message bears, and no message sent since then bears it. Or no message sent since then has the
   * recipients and the subject of the message.
   */
  conclusive: boolean;
  /**
   * True if a message with the same recipients and subject was sent since then, and nothing shows
   * whether it is this one. The message must then not be sent again. Default: false.
   */
  similar?: boolean;
}
