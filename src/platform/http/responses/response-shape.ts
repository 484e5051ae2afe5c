import { type CanActivate, StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Response } from 'express';
import type { ZodType } from 'zod';

/** The documented shapes of the responses that are being made. */
const shapes = new WeakMap<Response, ZodType>();

/**
 * Remembers the shape that the response of a handler must have. It is a guard that refuses nothing,
 * and not an interceptor: a single interceptor makes Nest handle every request with about thirty
 * objects of rxjs.
 */
export function expectShape(shape: ZodType): CanActivate {
  return {
    canActivate(context) {
      shapes.set(context.switchToHttp().getResponse<Response>(), shape);
      return true;
    },
  };
}

/**
 * Express that checks what handlers return against the shape of their `@Endpoint`, and removes keys
 * that the shape does not have. The shape describes the whole response, so that a list may have
 * several views.
 */
export class DocumentedResponses extends ExpressAdapter {
  /** @throws {ZodError} if the response does not have its documented shape */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    const shape = shapes.get(response);
    const isPlain = typeof body === 'object' && body !== null && !(body instanceof StreamableFile);
    return super.reply(
      response,
      shape && isPlain ? shape.parse(body) : body,
      statusCode,
    ) as unknown;
  }
}
