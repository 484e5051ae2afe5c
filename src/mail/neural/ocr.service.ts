import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { FilesService } from '../files/files.service.ts';
import { NeuralAccess } from './neural-access.ts';
import { NeuralThreads } from './threads/neural-threads.ts';

/** A file as `FilesService` returns it. */
export type OcrFile = Awaited<ReturnType<FilesService['get']>>;

/** Size limit of a file in bytes. */
const MOST_BYTES = 20 * 1024 * 1024;

const tooLarge = () =>
  new InvalidInputError(`file_id: the file is too large; the limit is ${MOST_BYTES} bytes`);

/** Recognises the text of files. */
@Injectable()
export class OcrService {
  constructor(
    private readonly access: NeuralAccess,
    private readonly files: FilesService,
    private readonly threads: NeuralThreads,
  ) {}

  /**
   * Recognises the text of a file.
   * @param pages page numbers from 1; `null` for the first five
   * @throws {NotFoundError}
   * @throws {ForbiddenError} if the neural endpoints are not enabled
   * @throws {InvalidInputError} if the file or one of the pages cannot be read
   * @throws {NotImplementedError} if a required package is not installed
   * @throws {DomainError} if the provider cannot return the file, or the server is busy
   */
  async read(
    account: AccountPrincipal,
    fileId: string,
    pages: readonly number[] | null,
  ): Promise<{ file: OcrFile; pages: string[] }> {
    this.access.require(account);
    const file = await this.files.get(account, fileId);
    // The size may be an estimate, so only files of twice the limit are refused before reading.
    // `#bytes` counts the actual bytes.
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
    // The error leaves the loop, which destroys the stream.
    for await (const chunk of bytes as AsyncIterable<Uint8Array>) {
      length += chunk.byteLength;
      if (length > MOST_BYTES) throw tooLarge();
      chunks.push(chunk);
    }
    return new Uint8Array(Buffer.concat(chunks, length));
  }
}
