import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Credentials } from '../credentials.ts';
import type { AccountPrincipal } from '../principal.ts';
import { BasicUserNameStrategy } from './basic-user-name.strategy.ts';
import { STRATEGY } from './strategy-names.ts';

/** `Authorization: Basic base64(<access token>:)`, as the official clients send access tokens. */
@Injectable()
export class AccessTokenBasicStrategy extends PassportStrategy(
  BasicUserNameStrategy,
  STRATEGY.accessTokenBasic,
) {
  constructor(private readonly credentials: Credentials) {
    super();
  }

  async validate(_request: Request, token: string): Promise<AccountPrincipal | false> {
    return (await this.credentials.accountByToken(token)) ?? false;
  }
}
