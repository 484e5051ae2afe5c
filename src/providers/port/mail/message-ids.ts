/* The listing of ids that audits compare with the mirror (`MailPort.listIds`). */

/** Part of a folder whose messages are to be listed (`MailPort.listIds`). */
export interface MessageIdsRequest {
  /** `RemoteFolder.providerId`. */
  folderId: string;
  /** Messages received at or after this time; `null` for no limit. */
  since: Date | null;
  /** Messages received before this time; `null` for no limit. */
  until: Date | null;
  /** `MessageIds.cursor` of the previous page. `null` for the first page. */
  cursor: string | null;
  /** Highest number of ids to return. */
  limit: number;
}

/** A page of the ids of a folder's messages. */
export interface MessageIds {
  /** `RemoteMessage.providerId`s. An id may be listed twice. */
  ids: readonly string[];
  /** Where the next page begins. `null` if this page completes the listing. */
  cursor: string | null;
}
