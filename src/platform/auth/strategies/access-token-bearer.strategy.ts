import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Credentials } from '../credentials.ts';
import type { AccountPrincipal } from '../principal.ts';
import { BearerHeaderStrategy } from './bearer-header.strategy.ts';
import { STRATEGY } from './strategy-names.ts';

/** `Authorization: Bearer <access token>` (RFC 6750 2.1). */
@Injectable()
export class AccessTokenBearerStrategy extends PassportStrategy(
  BearerHeaderStrategy,
  STRATEGY.accessTokenBearer,
) {
  constructor(private readonly credentials: Credentials) {
    super();
  }

  async validate(token: string): Promise<AccountPrincipal | false> {
    return (await this.credentials.accountByToken(token)) ?? false;
  }
}
