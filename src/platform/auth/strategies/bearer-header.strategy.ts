import type { Request } from 'express';
import { Strategy, type VerifyFunction } from 'passport-http-bearer';

/**
 * The strategy of `passport-http-bearer`, limited to the header. It would also accept a token in
 * the query, and addresses appear in logs.
 */
export class BearerHeaderStrategy extends Strategy<VerifyFunction> {
  override authenticate({ headers }: Request): void {
    super.authenticate({ headers } as Request);
  }
}
