import { createHash } from 'node:crypto';

/** SEQUENCE and DTSTAMP, which order what was sent of a component whatever order it comes in (RFC 5546 2.1.5). */
export interface Revision {
  sequence: number;
  /** Unix seconds; null: it has none, or none that can be read. */
  stamp: number | null;
}

/** The last answer of each participant, by address. */
export type SeenReplies = Readonly<Record<string, Revision>>;

/** Above zero: `a` is the later one. */
export function compareRevisions(a: Revision, b: Revision): number {
  return a.sequence - b.sequence || (a.stamp ?? 0) - (b.stamp ?? 0);
}

/** What the meetings of an organizer are told apart by. */
export function meetingKey(uid: string, organizer: string): string {
  return createHash('sha256').update(`${uid}\0${organizer.toLowerCase()}`).digest('base64url');
}

/** What is known of a meeting from mails before. */
export interface KnownSource {
  /** Whose mail it was. */
  sender: string | null;
  /** Whether that was the organizer. */
  trusted: boolean;
}

/** A mail that says something of a meeting. */
export interface Source {
  /** The address in From; null: there are several, or the receiving server has found that it is not the sender's. */
  sender: string | null;
  organizer: string;
}

/**
 * What a mail may do to a meeting of that organizer. Anybody can send an invitation that names an organizer. What the
 * organizer sends holds, whatever others have said before; what others have sent is only changed by the organizer or by
 * whoever sent it.
 * @param known null: it is the first mail of the meeting
 * @returns `outranks`: it holds whatever revision was known; `compares`: if it is not older; `ignored`: it does not hold
 */
export function standingOf(
  { sender, organizer }: Source,
  known: KnownSource | null,
): 'outranks' | 'compares' | 'ignored' {
  if (known === null) return 'outranks';
  if (sender === organizer) return known.trusted ? 'compares' : 'outranks';
  return !known.trusted && sender !== null && sender === known.sender ? 'compares' : 'ignored';
}
