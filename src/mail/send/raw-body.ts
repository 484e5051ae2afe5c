import type { Readable } from 'node:stream';
import { DomainError, InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { MOST_FILE_BYTES } from '../files/file-limits.ts';

/**
 * Maximum size of a raw message in bytes: attachments up to the usual limit as base64, and 3 MB for
 * everything else.
 */
export const MOST_RAW_BYTES = Math.ceil((MOST_FILE_BYTES * 4) / 3) + 3 * 1024 * 1024;

/**
 * Length that a request announces, at most `MOST_RAW_BYTES`; `MOST_RAW_BYTES` if it announces none.
 */
export function announcedBytes(headers: Readonly<Record<string, unknown>>): number {
  const announced = Number(headers['content-length']);
  return Number.isFinite(announced) ? Math.min(announced, MOST_RAW_BYTES) : MOST_RAW_BYTES;
}

/**
 * Reads a body that is not JSON. Refuses a body that is too large before all of it is read.
 * @throws {DomainError} 413 if the body is too large
 * @throws {InvalidInputError} if the body is empty, incomplete or has a content encoding
 */
export async function readRaw(
  body: Readable,
  headers: Readonly<Record<string, unknown>>,
): Promise<Buffer> {
  const coding = headers['content-encoding'];
  if (coding !== undefined && coding !== 'identity')
    throw new InvalidInputError('The encoding of the request body is not supported');
  if (Number(headers['content-length']) > MOST_RAW_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      length += (chunk as Buffer).length;
      if (length > MOST_RAW_BYTES) throw tooLarge();
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw new InvalidInputError('The request body did not arrive completely', { cause: error });
  }
  if (length === 0) throw new InvalidInputError('The request body is empty');
  return Buffer.concat(chunks);
}

function tooLarge(): DomainError {
  const most = Math.floor(MOST_RAW_BYTES / 1024 / 1024);
  return new DomainError(
    'request.too-large',
    'too-large',
    `A message must not be larger than ${most} MB`,
  );
}
