import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { DomainError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import type { Listing, PageOfView } from '../../platform/database/listing.ts';
import { ReadDatabase } from '../../platform/database/replicas/read-database.ts';
import type { Sql } from '../../platform/database/sql.ts';
import {
  type ConnectedAccount,
  ProviderAccounts,
} from '../../accounts/grants/provider-accounts.ts';
import { openAttachment } from '../../formats/mime/open-attachment.ts';
import { WorkThreads } from '../../platform/threads/work-threads.ts';
import { ListedContents } from '../listed-contents/listed-contents.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { providerFailure } from '../../providers/port/provider-failure.ts';
import { type FileReader, visibleFilesOf } from './visible-files.ts';
import type { CarriedFile, FileFilter, FileRecord, FileSource } from './file-record.ts';
import { FilesRepository } from './files.repository.ts';
import { StoredBytes } from './stored-bytes.ts';

/** Files: their properties, and their bytes from the database or from the provider. */
@Injectable()
export class FilesService {
  constructor(
    private readonly repository: FilesRepository,
    private readonly reads: ReadDatabase,
    private readonly stored: StoredBytes,
    private readonly listed: ListedContents,
    private readonly accounts: ProviderAccounts,
    private readonly connectors: ConnectorRegistry,
    private readonly threads: WorkThreads,
  ) {}

  /**
   * Files that the account's scopes allow, oldest first. The content of a listed message that the
   * filter names is fetched.
   * @throws {DomainError} if the provider cannot deliver that message now
   */
  async list(
    account: AccountPrincipal,
    filter: FileFilter,
    page: PageOfView,
  ): Promise<Listing<FileRecord>> {
    const { messageId } = filter;
    if (messageId !== undefined && isId(messageId))
      await this.listed.complete(account.accountId, [messageId]);
    return this.repository.list(account.accountId, filter, page, visibleFilesOf(account));
  }

  /** @throws {NotFoundError} also if the scopes do not allow the file */
  async get(account: AccountPrincipal, id: string): Promise<FileSource> {
    const [file] = await this.findMany(account, [id], this.reads);
    if (!file) throw new NotFoundError('file', id);
    return file;
  }

  /**
   * Returns the files with these ids that the account has and the reader may see, in no particular
   * order.
   */
  async findMany(reader: FileReader, ids: readonly string[], sql?: Sql): Promise<FileSource[]> {
    const known = [...new Set(ids.filter(isId).map((id) => id.toLowerCase()))];
    return known.length === 0
      ? []
      : this.repository.find(reader.accountId, known, visibleFilesOf(reader), sql);
  }

  /**
   * The files of a message or draft, in their order. The caller must have checked that the message
   * belongs to the account.
   */
  ofMessage(messageId: string, sql?: Sql): Promise<CarriedFile[]> {
    return this.repository.ofMessage(messageId, sql);
  }

  /**
   * Locks uploads until the transaction ends, so that they cannot be deleted.
   * @returns ids of the uploads that exist
   */
  lockUploads(
    sql: Sql,
    { accountId }: Pick<AccountPrincipal, 'accountId'>,
    ids: readonly string[],
  ): Promise<ReadonlySet<string>> {
    return this.repository.lockUploads(sql, accountId, ids);
  }

  /**
   * Streams the bytes, no faster than the caller reads them. A caller that does not read to the end
   * must destroy the stream.
   * @param sql where to read stored bytes; default: the primary
   * @throws {NotFoundError} also if the provider no longer has the message
   * @throws {DomainError} if the bytes cannot be read now
   */
  async open(
    principal: Pick<AccountPrincipal, 'accountId'>,
    file: FileSource,
    sql?: Sql,
  ): Promise<Readable> {
    const { id, dataId, size, messageProviderId } = file;
    if (dataId !== null) return this.stored.open(dataId, size, sql);
    if (messageProviderId === null) return this.#openUnreported(principal.accountId, file);
    const account = await this.accounts.find(principal.accountId);
    if (!account) throw new NotFoundError('file', id);
    try {
      return await this.openAt(account, messageProviderId, file);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      if (error.code === 'not-found') throw new NotFoundError('file', id);
      throw providerFailure(error, 'return the file');
    }
  }

  /** As `open`, for a client: stored bytes are read where reads of the API go. */
  download(principal: Pick<AccountPrincipal, 'accountId'>, file: FileSource): Promise<Readable> {
    return this.open(principal, file, this.reads);
  }

  /** Opens a file of a message without a provider id: a message just sent, or a draft. */
  async #openUnreported(accountId: string, { id, messageId, part }: FileSource): Promise<Readable> {
    const mime = messageId && (await this.listed.unreported(accountId, messageId));
    if (!mime) {
      // A sync pass may have found the message at the provider since the file was read.
      const [found] = await this.repository.find(accountId, [id], 'all');
      if (found && found.messageProviderId !== null) return this.open({ accountId }, found);
      throw new DomainError(
        'file.on-its-way',
        'unavailable',
        `The message with file ${id} is still being stored at the provider; try again later`,
      );
    }
    const content = await openAttachment(this.threads, accountId, mime, part);
    if (!content) throw new NotFoundError('file', id);
    return Readable.from([content]);
  }

  /**
   * Streams the bytes of an attachment from the provider.
   * @param messageProviderId the provider's id of the message
   * @throws {ProviderError}
   */
  async openAt(
    account: ConnectedAccount,
    messageProviderId: string,
    { section, part }: Pick<FileSource, 'section' | 'part'>,
  ): Promise<Readable> {
    // Messages that were fetched whole have no section numbers. Their attachments are identified by
    // position.
    const locator = section ?? `#${part}`;
    return this.connectors
      .requireMail(account.provider)
      .openFile(account, messageProviderId, locator);
  }
}
