import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { clientAddress, clientKey } from '../../base/client-address.ts';
import { DomainError } from '../../base/errors/domain-error.ts';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.ts';
import { refusals } from '../../refusals/refusals.ts';
import { BODY_LIMITS, BodyBudget, type BodySender, type TakenRoom } from './body-budget.ts';
import { type BodyFormat, bodyFormatOf } from './body-parser.ts';
import { hasBody, receiveBody } from './receive-body.ts';

const KB = 1024;
/**
 * Bodies up to this size need no room in the budget. If every connection of a process sends one,
 * they take 160 MB.
 */
const SMALL_BYTES = 16 * KB;
/** Largest body of a client without credentials, except for notifications of providers. */
const MOST_PUBLIC_BYTES = 64 * KB;
/**
 * How long a client may take to receive the response to a large body, in milliseconds: this long,
 * and longer for a response that may repeat the body. Until then it keeps room from others.
 */
const RECEIVING_MS = 30_000;
const SLOWEST_BYTES_PER_SECOND = 32 * KB;
/**
 * Methods whose content means nothing (RFC 9110 9.3). It is read because its fields are reported as
 * ignored, but it may be small only: streams are GET requests and would keep their room for hours.
 */
const BODILESS = ['GET', 'HEAD'];
/** Bytes that one client address may send in a second without credentials. */
const PUBLIC_BYTES_PER_SECOND = 4 * KB * KB;

/**
 * Reads request bodies into `request.body`. Guards call it once they know who sent the request,
 * because a body can take much longer to parse than to send (docs/adr/0129).
 *
 * Bodies are read as JSON, whatever their Content-Type, also for DELETE. The official client sends
 * JSON as `text/plain`, curl as a form. JSON is UTF-8 (RFC 8259 8.1), whatever charset the
 * Content-Type names: some clients name one that does not exist. A missing or empty body becomes
 * `{}`. Forms are accepted only on the paths that need them. Uploads and messages are left for
 * their handlers.
 */
@Injectable()
export class RequestBodies {
  readonly #known = new BodyBudget(BODY_LIMITS.known);
  readonly #public = new BodyBudget(BODY_LIMITS.public);
  readonly #publicBytes = new RateLimiterMemory({ points: PUBLIC_BYTES_PER_SECOND, duration: 1 });

  constructor(@Inject(APP_CONFIG) private readonly config: AppConfig) {}

  /**
   * Reads the body of a request with valid credentials.
   * @throws {DomainError} 400, 413, or 429 if there is no room for the body
   */
  async read(context: ExecutionContext, sender: BodySender): Promise<void> {
    const request = context.switchToHttp().getRequest<Request>();
    const format = bodyFormatOf(request);
    if (!format) return;
    const most = BODILESS.includes(request.method) ? SMALL_BYTES : format.most;
    const bytes = await receive(context, {
      most: Math.min(most, this.config.maxBodyBytes),
      take: (size) => this.#known.take(sender, size),
    });
    request.body = format.parse(bytes);
  }

  /**
   * Reads the body of a request that needs no credentials: at most 64 kB, or 1 MB of notifications
   * of a provider. The bytes that one client address may send in a second are limited.
   * @throws {DomainError} 400, 413, or 429 if this client sends too much
   */
  async readPublic(context: ExecutionContext): Promise<void> {
    const request = context.switchToHttp().getRequest<Request>();
    const format = bodyFormatOf(request);
    if (!format) return;
    const client = clientAddress(request);
    const bytes = await receive(context, {
      most: this.#mostPublic(format),
      take: (size) => this.#public.take({ caller: clientKey(client) }, size),
    });
    if (bytes.length > 0) await this.#countPublic(client, bytes.length);
    request.body = format.parse(bytes);
  }

  #mostPublic({ most, isNotification }: BodyFormat): number {
    return Math.min(isNotification ? most : MOST_PUBLIC_BYTES, this.config.maxBodyBytes);
  }

  async #countPublic(client: string, bytes: number): Promise<void> {
    try {
      await this.#publicBytes.consume(clientKey(client), bytes);
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      refusals.limit({ client });
      throw new DomainError(
        'request.rate-limited',
        'rate-limited',
        `Too many bytes: without credentials one client address may send ${PUBLIC_BYTES_PER_SECOND / KB / KB} MB in a second`,
        {
          limit: PUBLIC_BYTES_PER_SECOND,
          retryAfterSeconds: Math.max(1, Math.ceil(rejection.msBeforeNext / 1000)),
        },
      );
    }
  }
}

/** What a body may have, and where its room comes from. */
interface Room {
  /** Maximum size in bytes. */
  most: number;
  take(bytes: number): Promise<TakenRoom>;
}

async function receive(context: ExecutionContext, { most, take }: Room): Promise<Buffer> {
  const http = context.switchToHttp();
  const request = http.getRequest<Request>();
  if (!hasBody(request)) return Buffer.alloc(0);
  const response = http.getResponse<Response>();
  return receiveBody(request, {
    most,
    free: SMALL_BYTES,
    reserve: async (bytes) => {
      const room = await take(bytes);
      const release = () => room.release();
      let size = bytes;
      // The response may contain what was sent, so it counts until the client has received it.
      if (response.closed || response.destroyed) release();
      else response.once('close', release).once('prefinish', () => cutOff(response, size));
      return (received) => room.shrink((size = received));
    },
  });
}

/** Closes the connection of a client that does not receive its response. */
function cutOff(response: Response, bytes: number): void {
  const mostMs = RECEIVING_MS + (bytes / SLOWEST_BYTES_PER_SECOND) * 1000;
  const limit = setTimeout(() => response.destroy(), mostMs).unref();
  response.once('close', () => clearTimeout(limit));
}
