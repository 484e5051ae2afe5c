import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { type FileSource, mediaType } from './file-record.ts';
import type { FileReader } from './file-sight.ts';
import { refuseTooLarge } from './file-limits.ts';
import { FilesService } from './files.service.ts';

/** A file that a message is to carry. */
export interface AttachmentSource {
  id: string;
  filename: string;
  contentType: string;
  contentDisposition: 'attachment' | 'inline';
  contentId: string | null;
  /** Whether it was uploaded; else it is an attachment of a message. */
  isUpload: boolean;
  /** Bytes, decoded; an estimate where the provider gives no better. */
  size: number;
  /** Its bytes. @throws {DomainError} when it cannot be had at the moment */
  open(): Promise<Readable>;
}

/** Finds what `file_ids` of drafts, sends and outbox messages mean: uploads, and attachments of other messages. */
@Injectable()
export class AttachmentSources {
  constructor(private readonly files: FilesService) {}

  /**
   * In the order of the ids, each once; no bytes are read.
   * @param html text of the message: an upload that it shows as `cid:` and its id becomes a part of it (RFC 2392)
   * @throws {InvalidInputError} naming the first file that the account does not have, or its scopes do not let it see
   * @throws {AttachmentsTooLargeError} when they are too large for one message
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
   * Keeps uploads that a message is to name until the transaction ends: nobody removes them meanwhile.
   * @throws {InvalidInputError} naming the first one that has been removed since it was found
   */
  async hold(
    sql: Sql,
    account: Pick<AccountPrincipal, 'accountId'>,
    sources: readonly AttachmentSource[],
  ) {
    const uploads = sources.filter(({ isUpload }) => isUpload).map(({ id }) => id);
    const held = await this.files.holdUploads(sql, account, uploads);
    const gone = uploads.find((id) => !held.has(id));
    if (gone !== undefined) throw notFound(gone);
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

/** How a file is in a message: shown in its text, or beside it. Uploads have no Content-ID but their own id. */
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
