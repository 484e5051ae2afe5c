import { createHash } from 'node:crypto';

/**
 * SEQUENCE and DTSTAMP, which order the revisions of a component regardless of their order of
 * arrival (RFC 5546 2.1.5).
 */
export interface Revision {
  sequence: number;
  /** Unix seconds; `null` if DTSTAMP is absent or unreadable. */
  stamp: number | null;
}

/** The latest response of each participant, by address. */
export type SeenReplies = Readonly<Record<string, Revision>>;

/** Compares two revisions; positive if `a` is later. */
export function compareRevisions(a: Revision, b: Revision): number {
  return a.sequence - b.sequence || (a.stamp ?? 0) - (b.stamp ?? 0);
}

/** Key that identifies a meeting of an organizer. */
export function meetingKey(uid: string, organizer: string): string {
  return createHash('sha256').update(`${uid}\0${organizer.toLowerCase()}`).digest('base64url');
}

/** What earlier mails have established about a meeting. */
export interface EarlierSource {
  /** Sender of the last accepted mail. */
  sender: string | null;
  /** True if that sender was the organizer. */
  trusted: boolean;
}

/** A mail about a meeting. */
export interface SchedulingSource {
  /** The author; `null` if not known for certain. */
  sender: string | null;
  organizer: string;
}

/**
 * Decides whether a mail may change a meeting. Anyone can send an invitation that names an
 * organizer. A mail from the organizer always takes precedence over mails from others. A meeting
 * from another sender can be changed only by the organizer or by that same sender.
 * @param known `null` if this is the first mail about the meeting
 * @returns `outranks`: accept any revision; `compares`: accept if not older; `ignored`: reject
 */
export function precedenceOf(
  { sender, organizer }: SchedulingSource,
  known: EarlierSource | null,
): 'outranks' | 'compares' | 'ignored' {
  if (known === null) return 'outranks';
  if (sender === organizer) return known.trusted ? 'compares' : 'outranks';
  return !known.trusted && sender !== null && sender === known.sender ? 'compares' : 'ignored';
}
