import { DomainError } from '../../platform/base/errors/domain-error.ts';

/** Bytes of one file, and of all files of a message together before they are encoded. */
export const MOST_FILE_BYTES = 25 * 1024 * 1024;

/** Files of one upload. */
export const MOST_FILES_AT_ONCE = 20;

/** Sizes that providers tell may be estimates: so much more is let pass where nothing has been counted yet. */
const ESTIMATE_SLACK = 1.05;

const MEGABYTES = MOST_FILE_BYTES / 1024 / 1024;

/** A file of an upload is larger than `MOST_FILE_BYTES`. */
export function fileTooLarge(filename: string): DomainError {
  const words = `${filename.slice(0, 100)}: a file must not be larger than ${MEGABYTES} MB`;
  return new DomainError('file.too-large', 'too-large', words);
}

/** What counts of a small upload: so the number of an account's uploads has an end, too. */
export const LEAST_COUNTED_BYTES = 64 * 1024;

/** An account has as many uploads that nothing carries as it may have. */
export function uploadsFull(mostBytes: number): DomainError {
  const most = `${Math.floor(mostBytes / 1024 / 1024)} MB`;
  const words = `The account has ${most} of uploads that nothing carries: delete some of them first`;
  return new DomainError('file.uploads-full', 'too-large', words);
}

/** The files of a message are larger than `MOST_FILE_BYTES` together. */
export class AttachmentsTooLargeError extends DomainError {
  constructor() {
    super(
      'message.too-large',
      'too-large',
      `file_ids: the attachments of a message must not be larger than ${MEGABYTES} MB together`,
    );
  }
}

/** @throws {AttachmentsTooLargeError} when files of these sizes cannot be in one message */
export function refuseTooLarge(files: readonly { size: number }[]): void {
  const total = files.reduce((sum, { size }) => sum + size, 0);
  if (total > MOST_FILE_BYTES * ESTIMATE_SLACK) throw new AttachmentsTooLargeError();
}
