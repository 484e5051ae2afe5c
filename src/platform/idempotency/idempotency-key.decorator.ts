import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { Request } from 'express';
import { principalOf } from '../auth/principal.ts';
import { InvalidInputError } from '../base/errors/domain-error.ts';
import type { IdempotentRequest } from './idempotency-keys.ts';

const KEY = /^[\x20-\x7e]{1,255}$/;

/** Documents the header on a handler with an `@IdempotentCall()` parameter. */
export function AcceptsIdempotencyKey(): MethodDecorator {
  return applyDecorators(
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description:
        '1 to 255 printable ASCII characters of your choice. Within 24 hours, repeating the same request with the same key does nothing and returns the first response, with `Idempotent-Replayed: true`. A different request with the same key is refused with 409.',
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    }),
  );
}

/**
 * The request with its `Idempotency-Key`, for handlers behind `AccountAuth`; `undefined` without
 * the header.
 * @throws {InvalidInputError} naming the header, if it is given twice or is not a valid key
 */
export const IdempotentCall = createParamDecorator(
  (_: unknown, context: ExecutionContext): IdempotentRequest | undefined => {
    const request = context.switchToHttp().getRequest<Request>();
    // Node would join two headers into one key that the client did not intend.
    const [key, ...others] = request.headersDistinct['idempotency-key'] ?? [];
    if (key === undefined) return undefined;
    if (others.length > 0) throw new InvalidInputError('Idempotency-Key: must be given once');
    if (!KEY.test(key))
      throw new InvalidInputError('Idempotency-Key: must have 1 to 255 printable ASCII characters');
    const principal = principalOf(request);
    if (principal?.kind !== 'account')
      throw new Error('IdempotentCall is used on a route without AccountAuth');
    return {
      accountId: principal.accountId,
      key,
      method: request.method,
      path: request.path.replace(/\/+$/, ''),
      body: request.body as unknown,
    };
  },
);
