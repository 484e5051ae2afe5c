import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { DomainError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import type { Listing, PageOfView } from '../../platform/database/listing.ts';
import type { Sql } from '../../platform/database/sql.ts';
import {
  type ConnectedAccount,
  ProviderAccounts,
} from '../../accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { providerFailure } from '../../providers/port/provider-failure.ts';
import { type FileReader, sightOf } from './file-sight.ts';
import type { CarriedFile, FileFilter, FileRecord, FileSource } from './file-record.ts';
import { FilesRepository } from './files.repository.ts';
import { StoredBytes } from './stored-bytes.ts';

/** Files (api facts 5.4): what is known of them, and their bytes from where they are: here, or at the provider. */
@Injectable()
export class FilesService {
  constructor(
    private readonly repository: FilesRepository,
    private readonly stored: StoredBytes,
    private readonly accounts: ProviderAccounts,
    private readonly connectors: ConnectorRegistry,
  ) {}

  /** Those that the scopes let the account's token see, oldest first. */
  list(
    account: AccountPrincipal,
    filter: FileFilter,
    page: PageOfView,
  ): Promise<Listing<FileRecord>> {
    return this.repository.list(account.accountId, filter, page, sightOf(account));
  }

  /** @throws {NotFoundError} also where the scopes do not let it be seen */
  async get(account: AccountPrincipal, id: string): Promise<FileSource> {
    const [file] = await this.findMany(account, [id]);
    if (!file) throw new NotFoundError('file', id);
    return file;
  }

  /** Those of the files that the account has and the reader may see, in no order. */
  async findMany(reader: FileReader, ids: readonly string[], sql?: Sql): Promise<FileSource[]> {
    const known = [...new Set(ids.filter(isId).map((id) => id.toLowerCase()))];
    return known.length === 0
      ? []
      : this.repository.find(reader.accountId, known, sightOf(reader), sql);
  }

  /** What a message or draft carries, in its order. The caller has made sure whose it is. */
  ofMessage(messageId: string, sql?: Sql): Promise<CarriedFile[]> {
    return this.repository.ofMessage(messageId, sql);
  }

  /** Holds those of the uploads that are there until the transaction ends: nobody removes them meanwhile. */
  holdUploads(
    sql: Sql,
    { accountId }: Pick<AccountPrincipal, 'accountId'>,
    ids: readonly string[],
  ): Promise<ReadonlySet<string>> {
    return this.repository.holdUploads(sql, accountId, ids);
  }

  /**
   * Its bytes, as fast as the caller takes them and no faster. Whoever does not read them to the end destroys the stream.
   * @throws {NotFoundError} also when its message is not at the provider any more
   * @throws {DomainError} when the provider cannot give it at the moment
   */
  async open(principal: Pick<AccountPrincipal, 'accountId'>, file: FileSource): Promise<Readable> {
    const { id, dataId, size, messageProviderId } = file;
    if (dataId !== null) return this.stored.open(dataId, size);
    if (messageProviderId === null)
      throw new DomainError(
        'file.on-its-way',
        'unavailable',
        `The draft of file ${id} is on its way to the provider; try again`,
      );
    const account = await this.accounts.find(principal.accountId);
    if (!account) throw new NotFoundError('file', id);
    try {
      return await this.openAt(account, messageProviderId, file);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      if (error.code === 'not-found') throw new NotFoundError('file', id);
      throw providerFailure(error, 'give the file');
    }
  }

  /**
   * The bytes of an attachment at the provider.
   * @param messageProviderId what the provider calls its message
   * @throws {ProviderError}
   */
  async openAt(
    account: ConnectedAccount,
    messageProviderId: string,
    { section, part }: Pick<FileSource, 'section' | 'part'>,
  ): Promise<Readable> {
    // Messages that were fetched whole have no sections: their attachments are told by position.
    const place = section ?? `#${part}`;
    return this.connectors
      .requireMail(account.provider)
      .openFile(account, messageProviderId, place);
  }
}
