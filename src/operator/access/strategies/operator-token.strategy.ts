import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { BearerHeaderStrategy } from '../../../platform/auth/strategies/bearer-header.strategy.ts';
import { isConsolePath } from '../../../platform/http/listeners/surface.ts';
import { OperatorCredentials } from '../operator-credentials.ts';
import type { OperatorPrincipal } from '../operator-principal.ts';
import { OPERATOR_STRATEGY } from './operator-strategy-names.ts';

/**
 * `Authorization: Bearer <token of an operator>`, for the admin API. Pages of the console refuse
 * it: they take only the cookie of a session.
 */
@Injectable()
export class OperatorTokenStrategy extends PassportStrategy(
  BearerHeaderStrategy,
  OPERATOR_STRATEGY.token,
) {
  /** Passport adds it for each request; the types of the library leave it out. */
  declare fail: (challenge: string) => void;

  constructor(private readonly credentials: OperatorCredentials) {
    super();
  }

  override authenticate(request: Request): void {
    if (isConsolePath(request.path)) this.fail('Cookie');
    else super.authenticate(request);
  }

  async validate(token: string): Promise<OperatorPrincipal | false> {
    return (await this.credentials.byToken(token)) ?? false;
  }
}
