import type { Request } from 'express';
import { DomainError } from '../base/errors/domain-error.ts';

/** Limits of one body. */
export interface ReceiveLimits {
  /** Maximum size in bytes. Larger bodies are refused before they are read completely. */
  most: number;
  /** Bodies up to this size need no room. */
  free: number;
  /** Reserves room for a body that is larger, before more of it is read. */
  reserve(bytes: number): Promise<void>;
}

/** Whether a request has a body (RFC 9112 6). */
export function hasBody({ headers }: Request): boolean {
  return 'transfer-encoding' in headers || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * Reads the body of a request. Compressed bodies are refused: a few kilobytes could expand to
 * megabytes.
 * @throws {DomainError} 413, or 400 if the body is compressed or incomplete
 */
export async function receiveBody(request: Request, limits: ReceiveLimits): Promise<Buffer> {
  const { 'content-encoding': encoding = 'identity', 'content-length': length } = request.headers;
  if (encoding.toLowerCase() !== 'identity') throw unsupported();
  // Without a Content-Length it is sent in chunks and its size is unknown.
  const announced = length === undefined ? null : Number(length);
  if (announced !== null && announced > limits.most) throw tooLarge();
  let isReserved = false;
  const reserve = async (): Promise<void> => {
    isReserved = true;
    await limits.reserve(announced ?? limits.most);
  };
  if (announced !== null && announced > limits.free) await reserve();
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // Otherwise an error would close the connection, and the client would not see the response.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      chunks.push(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (size > limits.most) throw tooLarge();
      if (!isReserved && size > limits.free) await reserve();
    }
  } catch (error) {
    throw error instanceof DomainError ? error : incomplete();
  }
  if (!request.complete) throw incomplete();
  return Buffer.concat(chunks, size);
}

const tooLarge = (): DomainError =>
  new DomainError('request.too-large', 'too-large', 'The request body is too large');

const incomplete = (): DomainError =>
  new DomainError('request.incomplete', 'invalid', 'The request body is incomplete');

const unsupported = (): DomainError =>
  new DomainError(
    'request.encoding',
    'invalid',
    'The encoding of the request body is not supported',
  );
