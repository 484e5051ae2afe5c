/* Looking up whether a message was sent, after its outcome became unknown (`MailPort.findSent`). */

/** What is known of a message that is looked up, besides its Message-ID. */
export interface SentTraces {
  /** Addresses of all recipients, those of Bcc included. */
  recipients: readonly string[];
  /** `null` if it is not at hand: every subject may then be that of the message. */
  subject: string | null;
  /** No attempt was made before this time. */
  since: Date;
  /**
   * Those of the Message-IDs that belong to messages of the account that were sent from here. A
   * copy with such a Message-ID, other than that of the message, is another message of ours:
   * servers do not make them up. Default: none of them.
   */
  ownIdsAmong?(messageIds: readonly string[]): Promise<ReadonlySet<string>>;
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

/**
 * Whether a sent message may be the one that is looked up, as far as its recipients and its subject
 * show. Capitals of addresses and the length of blanks do not matter.
 * @param subject `null` for none
 */
export function isLike(
  { recipients, subject: wanted }: SentTraces,
  sent: { recipients: readonly string[]; subject: string | null },
): boolean {
  return (
    (wanted === null || plain(wanted) === plain(sent.subject ?? '')) &&
    sameSet(recipients.map(lower), sent.recipients.map(lower))
  );
}

function sameSet(some: readonly string[], others: readonly string[]): boolean {
  const [a, b] = [new Set(some), new Set(others)];
  return a.size === b.size && [...a].every((one) => b.has(one));
}

const lower = (email: string): string => email.toLowerCase();
const plain = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
