import { Inject, Injectable, Logger } from '@nestjs/common';
import type { AccountPrincipal } from '../../../platform/auth/principal.ts';
import {
  DomainError,
  InvalidInputError,
  NotFoundError,
} from '../../../platform/base/errors/domain-error.ts';
import { isId, newId } from '../../../platform/base/ids/ids.ts';
import { storable } from '../../../platform/base/text/storable.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import { Database } from '../../../platform/database/sql.ts';
import { recordChanges } from '../../../platform/changes/change-log.ts';
import { fileTooLarge, MOST_FILE_BYTES, uploadsFull } from '../file-limits.ts';
import type { FileRecord, NewUpload } from '../file-record.ts';
import { FilesRepository } from '../files.repository.ts';
import { type IncomingForm, readMultipart, type ReceivedPart } from './multipart.ts';
import { StoredBytes } from '../stored-bytes.ts';

const LONGEST_NAME = 255;

/**
 * Files that clients upload. An upload is kept for 7 days, and longer while a draft or a waiting
 * message uses it.
 */
@Injectable()
export class UploadsService {
  readonly #log = new Logger(UploadsService.name);

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly repository: FilesRepository,
    private readonly bytes: StoredBytes,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * Stores the files of a form, in their order. Either all are stored or none.
   * @throws {DomainError} 413 if a file is too large, or if the account's unused uploads would
   *   exceed the configured limit
   * @throws {InvalidInputError} if the body is not a form, is malformed, ends early or has no
   *   file; also throws the errors of `form.ignored`
   */
  async upload(account: AccountPrincipal, form: IncomingForm): Promise<FileRecord[]> {
    const { accountId, applicationId } = account;
    const begun: string[] = [];
    const uploads: NewUpload[] = [];
    let left = await this.#bytesLeft(accountId);
    try {
      await readMultipart(form, async (part, bytes) => {
        const upload = { ...described(part), id: newId(), dataId: '', size: 0 };
        upload.size = await this.bytes.store(accountId, bytes, {
          use: (id) => begun.push((upload.dataId = id)),
          check: (size) => {
            if (size > MOST_FILE_BYTES) throw fileTooLarge(upload.filename);
            if (size > left) throw uploadsFull(this.config.uploads.mostUnusedBytes);
          },
        });
        left -= upload.size;
        uploads.push(upload);
      });
      if (uploads.length === 0) throw new InvalidInputError('file: the form contains no file');
      const at = this.clock.now();
      return await this.database.transaction(async (sql) => {
        const files = await this.repository.add(sql, accountId, uploads);
        const change = { applicationId, accountId, object: 'file', event: 'create', at } as const;
        const changes = uploads.map(({ id }) => ({ ...change, objectId: id }));
        await recordChanges(sql, changes);
        return files;
      });
    } catch (error) {
      await this.#discard(accountId, begun);
      throw error;
    }
  }

  /**
   * Deletes an unused upload.
   * @throws {NotFoundError}
   * @throws {InvalidInputError} if a message, a draft or an unsent message contains the file
   */
  async delete({ accountId, applicationId }: AccountPrincipal, id: string): Promise<void> {
    const at = this.clock.now();
    const dataId = await this.database.transaction(async (sql) => {
      const file = isId(id) ? await this.repository.lock(sql, accountId, id) : undefined;
      if (!file) throw new NotFoundError('file', id);
      // A separate statement, so that it sees drafts that were written while this transaction
      // waited for the row lock.
      const deleted = file.attached
        ? undefined
        : await this.repository.deleteUnused(sql, accountId, id);
      if (!deleted)
        throw new DomainError('file.attached', 'invalid', "Can't delete file that is attachment.");
      await recordChanges(sql, [
        {
          applicationId,
          accountId,
          object: 'file',
          objectId: id.toLowerCase(),
          event: 'delete',
          at,
        },
      ]);
      return deleted.dataId;
    });
    await this.#discard(accountId, dataId === null ? [] : [dataId]);
  }

  async #bytesLeft(accountId: string): Promise<number> {
    const most = this.config.uploads.mostUnusedBytes;
    if (most === 0) return Infinity;
    const left = most - (await this.repository.unusedBytes(accountId));
    if (left <= 0) throw uploadsFull(most);
    return left;
  }

  /** Failing to delete the bytes now is no error: `pruneFiles` deletes them later. */
  async #discard(accountId: string, ids: readonly string[]): Promise<void> {
    try {
      await this.bytes.discard(accountId, ids);
    } catch (error) {
      this.#log.warn(
        `could not delete the bytes of files of account ${accountId}; the next pruning run deletes them: ${String(error)}`,
      );
    }
  }
}

function described({ filename, contentType }: ReceivedPart): ReceivedPart {
  if (filename.length > LONGEST_NAME)
    throw new InvalidInputError(`filename: must not be longer than ${LONGEST_NAME} characters`);
  return { filename: storable(filename), contentType: storable(contentType, LONGEST_NAME) };
}
