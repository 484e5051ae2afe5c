import { z } from 'zod';
import { readCursor } from '../../rest/cursor.ts';

/**
 * What of a mailbox is still to be listed:
 *
 * - `list`: messages before `before`, newest first
 * - `compare`: everything is listed; the mirror may have messages that no longer exist
 */
const listing = z.object({
  stage: z.enum(['list', 'compare']),
  /** `null` for the first page. */
  pageToken: z.string().nullable(),
  /** No message on the next page is newer, in Unix seconds. */
  before: z.number(),
  /**
   * When the newest message was received as listing began, in Unix seconds. Newer ones are reported
   * by the history, as new.
   */
  until: z.number(),
  /** Whether Gmail no longer knew the changes since the last pass. */
  again: z.boolean(),
  /** Since when Gmail fails on this page, as ISO 8601 in UTC. Absent if it does not. */
  stalledSince: z.iso.datetime().optional(),
});
export type GmailListing = z.infer<typeof listing>;

const gmailCursor = z.object({
  version: z.literal(1),
  /** Changes up to here were returned. */
  historyId: z.string(),
  /** Digest of the labels that were returned last. */
  labels: z.string(),
  listing: listing.nullable(),
  /** Since when Gmail fails on the history, as ISO 8601 in UTC. Absent if it does not. */
  stalledSince: z.iso.datetime().optional(),
});
/** Sync progress of a Gmail mailbox. */
export type GmailCursor = z.infer<typeof gmailCursor>;

/** @returns `null` for no cursor, or one that another version has written: all is read again */
export function parseCursor(cursor: string | null): GmailCursor | null {
  return readCursor(cursor, gmailCursor);
}
