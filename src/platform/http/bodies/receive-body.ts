import type { Request } from 'express';
import { monotonicMs } from '../../base/time/clock.ts';
import { DomainError } from '../../base/errors/domain-error.ts';

/** Limits of one body. */
export interface ReceiveLimits {
  /** Maximum size in bytes. Larger bodies are refused before they are read completely. */
  most: number;
  /** Bodies up to this size need no room. */
  free: number;
  /**
   * Reserves room for a body that is larger, before more of it is read.
   * @returns a function that gives back what the body does not need, once its size is known
   */
  reserve(bytes: number): Promise<(size: number) => void>;
}

/**
 * A body that is larger than `free` may take this long to arrive. Slower senders would keep room
 * from others.
 */
const GRACE_MS = 15_000;
const SLOWEST_BYTES_PER_SECOND = 32 * 1024;
const LOOK_EVERY_MS = 1_000;

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
  const needed = announced ?? limits.most;
  const chunks: Buffer[] = [];
  let size = 0;
  let room: BodyRoom | undefined;
  const reserve = async () => (room = watched(request, await limits.reserve(needed), () => size));
  if (announced !== null && announced > limits.free) await reserve();
  try {
    // Otherwise an error would close the connection, and the client would not see the response.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      chunks.push(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (size > limits.most) throw tooLarge();
      if (!room && size > limits.free) await reserve();
    }
  } catch (error) {
    // A client that sends everything before it reads would not see the response otherwise.
    request.resume();
    throw error instanceof DomainError ? error : incomplete();
  } finally {
    room?.received();
  }
  if (!request.complete) throw incomplete();
  return Buffer.concat(chunks, size);
}

interface BodyRoom {
  /** Nothing more is read: gives back what the body does not need. */
  received(): void;
}

/** Closes the connection of a client that keeps room and sends its body too slowly. */
function watched(request: Request, keep: (size: number) => void, size: () => number): BodyRoom {
  const begunMs = monotonicMs();
  const timer = setInterval(() => {
    const allowedMs = GRACE_MS + (size() / SLOWEST_BYTES_PER_SECOND) * 1000;
    if (monotonicMs() - begunMs > allowedMs) request.destroy();
  }, LOOK_EVERY_MS).unref();
  return {
    received() {
      clearInterval(timer);
      keep(size());
    },
  };
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
