import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Strategy as PassportBase } from 'passport';
import { BasicStrategy } from 'passport-http';
import { Strategy as BearerStrategy } from 'passport-http-bearer';
import { Credentials } from './credentials.ts';
import { STRATEGY } from './guards.ts';
import { basicUserName } from './presented-token.ts';
import type { AccountPrincipal, ApplicationPrincipal } from './principal.ts';

@Injectable()
export class AccessTokenBearerStrategy extends PassportStrategy(BearerStrategy, STRATEGY.bearer) {
  constructor(private readonly credentials: Credentials) {
    super();
  }

  /**
   * Reads the token from the header only. The library would also accept tokens in the query string,
   * which appear in logs.
   */
  override authenticate(request: Request): void {
    super.authenticate({ headers: request.headers } as Request);
  }

  async validate(token: string): Promise<AccountPrincipal | false> {
    return (await this.credentials.accountByToken(token)) ?? false;
  }
}

/** `Authorization: Basic base64(client_id:client_secret)`. */
@Injectable()
export class ApplicationStrategy extends PassportStrategy(BasicStrategy, STRATEGY.application) {
  constructor(private readonly credentials: Credentials) {
    super();
  }

  async validate(clientId: string, clientSecret: string): Promise<ApplicationPrincipal | false> {
    return (await this.credentials.applicationBySecret(clientId, clientSecret)) ?? false;
  }
}

type Verify = (
  request: Request,
  userName: string,
  done: (error: unknown, user?: unknown) => void,
) => void;

/** Basic authentication with a secret as user name and no password, which passport-http refuses. */
class BasicUserNameStrategy extends PassportBase {
  // Passport runs each request on an object derived from this one, and derived objects lack
  // `#private` members.
  private readonly verify: Verify;

  constructor(verify: Verify) {
    super();
    this.verify = verify;
  }

  override authenticate(request: Request): void {
    const userName = basicUserName(request);
    if (!userName) return this.fail('Basic');
    this.verify(request, userName, (error, user) => {
      if (error) this.error(error as Error);
      else if (user) this.success(user as Express.User);
      else this.fail('Basic');
    });
  }
}

/**
 * `Authorization: Basic base64(token:)`, the form in which the official clients send access tokens.
 */
@Injectable()
export class AccessTokenBasicStrategy extends PassportStrategy(
  BasicUserNameStrategy,
  STRATEGY.tokenAsUser,
) {
  constructor(private readonly credentials: Credentials) {
    super();
  }

  async validate(_request: Request, token: string): Promise<AccountPrincipal | false> {
    return (await this.credentials.accountByToken(token)) ?? false;
  }
}

/** `Authorization: Basic base64(client_secret:)` under `/a/{client_id}`. */
@Injectable()
export class ApplicationSecretStrategy extends PassportStrategy(
  BasicUserNameStrategy,
  STRATEGY.applicationSecret,
) {
  constructor(private readonly credentials: Credentials) {
    super();
  }

  async validate(request: Request, secret: string): Promise<ApplicationPrincipal | false> {
    const clientId = request.params['client_id'];
    if (typeof clientId !== 'string') return false;
    return (await this.credentials.applicationBySecret(clientId, secret)) ?? false;
  }
}
