import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { type FileSource, mediaType } from './file-record.ts';
import type { FileReader } from './visible-files.ts';
import { refuseTooLarge } from './file-limits.ts';
import { FilesService } from './files.service.ts';

/** A file to attach to a message. */
export interface AttachmentSource {
  id: string;
  filename: string;
  contentType: string;
  contentDisposition: 'attachment' | 'inline';
  contentId: string | null;
  /** True for an upload; false for an attachment of another message. */
  isUpload: boolean;
  /** Decoded bytes. An estimate if the provider does not report the exact size. */
  size: number;
  /** Opens the file's bytes. @throws {DomainError} if they cannot be read now */
  open(): Promise<Readable>;
}

/**
 * Resolves the `file_ids` of drafts, sends and outbox messages to files: uploads, and attachments
 * of other messages.
 */
@Injectable()
export class AttachmentSources {
  constructor(private readonly files: FilesService) {}

  /**
   * Finds files by their ids: in the order of the ids, without duplicates. Reads no bytes.
   * @param html text of the message; an upload that the text shows as `cid:` and its id becomes
   *   an inline part (RFC 2392)
   * @throws {InvalidInputError} names the first file that the account does not have or its scopes
   *   do not allow
   * @throws {AttachmentsTooLargeError} if the files together are too large for one message
   */
  async resolve(
    account: FileReader,
    fileIds: readonly string[],
    html = '',
  ): Promise<AttachmentSource[]> {
    const ids = [...new Set(fileIds.map((id) => id.toLowerCase()))];
    if (ids.length === 0) return [];
    const found = new Map((await this.files.findMany(account, ids)).map((file) => [file.id, file]));
    const sources = ids.map((id) => {
      const file = found.get(id);
      if (!file) throw notFound(id);
      return this.#source(account, file, html);
    });
    refuseTooLarge(sources);
    return sources;
  }

  /**
   * Locks the uploads of a new message until the transaction ends, so that no other transaction can
   * delete them.
   * @throws {InvalidInputError} names the first upload that was deleted after `resolve` had found
   *   it
   */
  async lockUploads(
    sql: Sql,
    account: Pick<AccountPrincipal, 'accountId'>,
    sources: readonly AttachmentSource[],
  ) {
    const uploads = sources.filter(({ isUpload }) => isUpload).map(({ id }) => id);
    const locked = await this.files.lockUploads(sql, account, uploads);
    const missing = uploads.find((id) => !locked.has(id));
    if (missing !== undefined) throw notFound(missing);
  }

  #source(
    account: Pick<AccountPrincipal, 'accountId'>,
    file: FileSource,
    html: string,
  ): AttachmentSource {
    const { id, filename, size, messageId } = file;
    const isUpload = messageId === null;
    const open = () => this.files.open(account, file);
    return {
      id,
      filename,
      contentType: mediaType(file),
      isUpload,
      size,
      open,
      ...placement(file, html),
    };
  }
}

const notFound = (id: string) =>
  new InvalidInputError(`file_ids: Couldn't find file ${id.slice(0, 100)}`);

/**
 * Whether a file is shown inline or as an attachment, and its Content-ID. An upload has no
 * Content-ID; if it is shown inline, its own id is used.
 */
export function placement(
  {
    id,
    contentDisposition,
    contentId,
  }: Pick<FileSource, 'id' | 'contentDisposition' | 'contentId'>,
  html: string,
): Pick<AttachmentSource, 'contentDisposition' | 'contentId'> {
  if (contentDisposition === null && html.includes(`cid:${id}`))
    return { contentDisposition: 'inline', contentId: id };
  return {
    contentDisposition: contentDisposition === 'inline' ? 'inline' : 'attachment',
    contentId,
  };
}
