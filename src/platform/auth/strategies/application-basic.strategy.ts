import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { BasicStrategy } from 'passport-http';
import { Credentials } from '../credentials.ts';
import type { ApplicationPrincipal } from '../principal.ts';
import { STRATEGY } from './strategy-names.ts';

/** `Authorization: Basic base64(<client_id>:<client_secret>)` (RFC 7617). */
@Injectable()
export class ApplicationBasicStrategy extends PassportStrategy(
  BasicStrategy,
  STRATEGY.applicationBasic,
) {
  constructor(private readonly credentials: Credentials) {
    super();
  }

  async validate(clientId: string, clientSecret: string): Promise<ApplicationPrincipal | false> {
    return (await this.credentials.applicationBySecret(clientId, clientSecret)) ?? false;
  }
}
