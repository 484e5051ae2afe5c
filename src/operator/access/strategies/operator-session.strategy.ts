import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Strategy } from 'passport';
import { isConsolePath } from '../../../platform/http/listeners/surface.ts';
import { OperatorCredentials } from '../operator-credentials.ts';
import type { OperatorPrincipal } from '../operator-principal.ts';
import { presentedSession } from '../sessions/session-cookie.ts';
import { OPERATOR_STRATEGY } from './operator-strategy-names.ts';

type Verify = (secret: string, done: (error: unknown, user?: Express.User | false) => void) => void;

/** Takes the secret of a session from its cookie, on pages of the console only. */
class SessionCookieStrategy extends Strategy {
  // Passport runs each request on an object derived from this one, which lacks `#private` members.
  private readonly verify: Verify;

  constructor(verify: Verify) {
    super();
    this.verify = verify;
  }

  override authenticate(request: Request): void {
    if (!isConsolePath(request.path)) return this.fail('Bearer');
    this.verify(presentedSession(request), (error, user) => {
      if (error) this.error(error);
      else if (user) this.success(user);
      else this.fail('Cookie');
    });
  }
}

/** The cookie of an operator's session, for pages of the console. */
@Injectable()
export class OperatorSessionStrategy extends PassportStrategy(
  SessionCookieStrategy,
  OPERATOR_STRATEGY.session,
) {
  constructor(private readonly credentials: OperatorCredentials) {
    super();
  }

  async validate(secret: string): Promise<OperatorPrincipal | false> {
    return (await this.credentials.bySession(secret)) ?? false;
  }
}
