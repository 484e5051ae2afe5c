/** An upload, or an attachment of a message. */
export interface FileRecord {
  id: string;
  accountId: string;
  /** Messages and drafts it is in. */
  messageIds: string[];
  filename: string;
  contentType: string;
  /** Null: an upload. */
  contentDisposition: string | null;
  contentId: string | null;
  size: number;
}

/** Where its bytes are. */
export interface FileSource extends FileRecord {
  /** The message it is an attachment of; null: it was uploaded. */
  messageId: string | null;
  /** Stored here; null: the provider has them. */
  dataId: string | null;
  /** Position among the attachments. */
  part: number;
  section: string | null;
  /** What the provider calls its message; null: it is not there yet, or it is an upload. */
  messageProviderId: string | null;
}

/** A file as a message carries it. */
export interface CarriedFile extends Omit<FileRecord, 'accountId' | 'messageIds'> {
  contentDisposition: string;
  /** Stored here; null: the provider has them. */
  dataId: string | null;
}

/** A file that has arrived. */
export interface NewUpload {
  id: string;
  dataId: string;
  filename: string;
  contentType: string;
  size: number;
}

/** Which files of an account are wanted; what is absent does not restrict. */
export interface FileFilter {
  messageId?: string | undefined;
  /** The exact name. */
  filename?: string | undefined;
  /** The exact media type, in any case. */
  contentType?: string | undefined;
}

const MEDIA_TYPE = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}$/;

/** The media type of a file for a header; senders write anything. */
export function mediaType({ contentType }: Pick<FileRecord, 'contentType'>): string {
  return MEDIA_TYPE.test(contentType) ? contentType.toLowerCase() : 'application/octet-stream';
}
