import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Credentials } from '../credentials.ts';
import type { ApplicationPrincipal } from '../principal.ts';
import { BasicUserNameStrategy } from './basic-user-name.strategy.ts';
import { STRATEGY } from './strategy-names.ts';

/** `Authorization: Basic base64(<client_secret>:)`, for paths under `/a/{client_id}`. */
@Injectable()
export class ApplicationSecretStrategy extends PassportStrategy(
  BasicUserNameStrategy,
  STRATEGY.applicationSecret,
) {
  constructor(private readonly credentials: Credentials) {
    super();
  }

  async validate(request: Request, secret: string): Promise<ApplicationPrincipal | false> {
    const { client_id: clientId } = request.params;
    if (typeof clientId !== 'string') return false;
    return (await this.credentials.applicationBySecret(clientId, secret)) ?? false;
  }
}
