/** An upload, or an attachment of a message. */
export interface FileRecord {
  id: string;
  accountId: string;
  /** Ids of the messages and drafts that contain the file. */
  messageIds: string[];
  filename: string;
  contentType: string;
  /** `null` for an upload. */
  contentDisposition: string | null;
  contentId: string | null;
  size: number;
}

/** A file and the location of its bytes. */
export interface FileSource extends FileRecord {
  /** The message the file is attached to; `null` for an upload. */
  messageId: string | null;
  /** Id of the stored bytes; `null` if only the provider has them. */
  dataId: string | null;
  /** Position among the attachments of the message, from 0. */
  part: number;
  section: string | null;
  /**
   * The provider's id of the message. `null` for an upload, and while the message is not at the
   * provider yet.
   */
  messageProviderId: string | null;
}

/** A file of a message or draft. */
export interface CarriedFile extends Omit<FileRecord, 'accountId' | 'messageIds'> {
  contentDisposition: string;
  /** Id of the stored bytes; `null` if only the provider has them. */
  dataId: string | null;
}

/** An upload whose bytes have been stored. */
export interface NewUpload {
  id: string;
  dataId: string;
  filename: string;
  contentType: string;
  size: number;
}

/** Conditions on the files of an account. An absent field does not restrict the list. */
export interface FileFilter {
  messageId?: string | undefined;
  /** The exact file name. */
  filename?: string | undefined;
  /** The exact media type, ignoring case. */
  contentType?: string | undefined;
}

const MEDIA_TYPE = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}$/;

/**
 * The media type of a file for use in a header. Anything else that a sender wrote becomes
 * `application/octet-stream`.
 */
export function mediaType({ contentType }: Pick<FileRecord, 'contentType'>): string {
  return MEDIA_TYPE.test(contentType) ? contentType.toLowerCase() : 'application/octet-stream';
}
