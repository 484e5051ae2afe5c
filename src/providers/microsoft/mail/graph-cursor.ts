import { z } from 'zod';
import { readCursor } from '../../rest/cursor.ts';

const folderState = z.object({
  /** Path of the next request of the delta query; `null` before the first one. */
  link: z.string().nullable(),
  /**
   * - `list`: messages are listed for the first time
   * - `again`: Graph has forgotten the state; all are listed again
   * - `compare`: all were listed again; messages of the mirror that were not listed are looked up
   * - `follow`: only changes are listed
   */
  stage: z.enum(['list', 'again', 'compare', 'follow']),
  /** While `compare`: the last message that was looked up. Absent before the first one. */
  compared: z.string().optional(),
  /** Counts of the folder when its changes were read last. */
  counts: z.string(),
  /** When its changes were read last, in Unix milliseconds: later messages are news. */
  readAt: z.number(),
  /** Messages of the next page, while pages of the usual size fail. */
  limit: z.number().optional(),
  /** Set while no page can be read. Times in Unix milliseconds. */
  stall: z
    .object({
      since: z.number(),
      triedAt: z.number(),
      /** When the folder was last listed again for this reason. */
      listedAt: z.number().nullable(),
    })
    .optional(),
});
export type FolderState = z.infer<typeof folderState>;

const graphCursor = z.object({
  version: z.literal(1),
  /** Digest of the folders that were returned last. */
  listed: z.string(),
  wellKnown: z.record(z.string(), z.string()),
  folders: z.record(z.string(), folderState),
  /** Folders whose changes are still to be read in this round. */
  round: z.array(z.string()),
  /** When the round began, in Unix milliseconds. */
  roundAt: z.number(),
  /** `SyncPassRequest.beganAt` of the pass in which the round began. Older releases wrote none. */
  passAt: z.number().optional(),
  /** Position of the next folder among those that are read in turn. */
  turn: z.number(),
});
/** Sync progress of a Microsoft mailbox. */
export type GraphCursor = z.infer<typeof graphCursor>;

/** @returns `null` for no cursor, or one that another version has written: all is read again */
export function parseCursor(cursor: string | null): GraphCursor | null {
  return readCursor(cursor, graphCursor);
}
