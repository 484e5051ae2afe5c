import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { FilesService } from '../files/files.service.ts';
import { NeuralAccess } from './neural-access.ts';
import { NeuralThreads } from './threads/neural-threads.ts';

/** A file as the service of files knows it. */
export type OcrFile = Awaited<ReturnType<FilesService['get']>>;

/** Largest file that is read, in bytes. */
const MOST_BYTES = 20 * 1024 * 1024;

const tooLarge = () =>
  new InvalidInputError(`file_id: the file is too large; at most ${MOST_BYTES} bytes are read`);

/** Reads the text of files (api facts 11). */
@Injectable()
export class OcrService {
  constructor(
    private readonly access: NeuralAccess,
    private readonly files: FilesService,
    private readonly threads: NeuralThreads,
  ) {}

  /**
   * @param pages numbers from 1; null: the first five
   * @throws {NotFoundError} @throws {ForbiddenError} when it is not enabled
   * @throws {InvalidInputError} when the file or the pages cannot be read
   * @throws {NotImplementedError} when a package is not installed
   * @throws {DomainError} when the provider cannot give the file, or the server is busy
   */
  async read(
    account: AccountPrincipal,
    fileId: string,
    pages: readonly number[] | null,
  ): Promise<{ file: OcrFile; pages: string[] }> {
    this.access.require(account);
    const file = await this.files.get(account, fileId);
    // An estimate of a file that is too large by far is enough; the bytes are counted as they come.
    if (file.size > 2 * MOST_BYTES) throw tooLarge();
    const texts = await this.threads.ocr(
      account.accountId,
      () => this.#bytes(account, file),
      pages,
    );
    return { file, pages: texts };
  }

  async #bytes(account: AccountPrincipal, file: OcrFile): Promise<Uint8Array> {
    const bytes = await this.files.open(account, file);
    const chunks: Uint8Array[] = [];
    let length = 0;
    // Leaving the loop destroys the stream.
    for await (const chunk of bytes as AsyncIterable<Uint8Array>) {
      length += chunk.byteLength;
      if (length > MOST_BYTES) throw tooLarge();
      chunks.push(chunk);
    }
    return new Uint8Array(Buffer.concat(chunks, length));
  }
}
