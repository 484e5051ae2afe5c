import { DomainError } from '../../platform/base/errors/domain-error.ts';

/** Maximum bytes of one file, and of all files of a message together before encoding. */
export const MOST_FILE_BYTES = 25 * 1024 * 1024;

/** Maximum number of files in one upload request. */
export const MOST_FILES_AT_ONCE = 20;

/**
 * Sizes from providers may be estimates. A sum of such sizes may exceed the limit by this factor.
 */
const ESTIMATE_SLACK = 1.05;

const MEGABYTES = MOST_FILE_BYTES / 1024 / 1024;

/** 413: a file of an upload is larger than `MOST_FILE_BYTES`. */
export function fileTooLarge(filename: string): DomainError {
  const words = `${filename.slice(0, 100)}: a file must not be larger than ${MEGABYTES} MB`;
  return new DomainError('file.too-large', 'too-large', words);
}

/**
 * A smaller upload counts as this many bytes. So the limit in bytes also limits the number of an
 * account's uploads.
 */
export const LEAST_COUNTED_BYTES = 64 * 1024;

/**
 * 413: the account's unused uploads have reached their limit.
 * @param mostBytes the configured limit in bytes
 */
export function uploadsFull(mostBytes: number): DomainError {
  const most = `${Math.floor(mostBytes / 1024 / 1024)} MB`;
  const words = `The account has ${most} of uploads that no draft and no waiting message uses: delete some of them first`;
  return new DomainError('file.uploads-full', 'too-large', words);
}

/** The files of a message are together larger than `MOST_FILE_BYTES`. */
export class AttachmentsTooLargeError extends DomainError {
  constructor() {
    super(
      'message.too-large',
      'too-large',
      `file_ids: the attachments of a message must not be larger than ${MEGABYTES} MB together`,
    );
  }
}

/** @throws {AttachmentsTooLargeError} if files of these sizes do not fit into one message */
export function refuseTooLarge(files: readonly { size: number }[]): void {
  const total = files.reduce((sum, { size }) => sum + size, 0);
  if (total > MOST_FILE_BYTES * ESTIMATE_SLACK) throw new AttachmentsTooLargeError();
}
