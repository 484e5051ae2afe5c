import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { BasicStrategy } from 'passport-http';
import { Credentials } from '../credentials.ts';
import { basicCredentials } from '../presented-token.ts';
import type { ApplicationPrincipal } from '../principal.ts';
import { STRATEGY } from './strategy-names.ts';

/** `Authorization: Basic base64(<client_id>:<client_secret>)` (RFC 7617). */
@Injectable()
export class ApplicationBasicStrategy extends PassportStrategy(
  BasicStrategy,
  STRATEGY.applicationBasic,
) {
  constructor(private readonly credentials: Credentials) {
    super({ passReqToCallback: true });
  }

  async validate(request: Request): Promise<ApplicationPrincipal | false> {
    // `passport-http` cuts the password at its first colon. A password may contain colons
    // (RFC 7617 2), so the header is read again.
    const sent = basicCredentials(request);
    if (!sent) return false;
    return (await this.credentials.applicationBySecret(sent.userName, sent.password)) ?? false;
  }
}
