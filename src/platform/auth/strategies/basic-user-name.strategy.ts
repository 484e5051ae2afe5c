import type { Request } from 'express';
import { Strategy } from 'passport';
import { basicCredentials } from '../presented-token.ts';

type Verify = (
  request: Request,
  userName: string,
  done: (error: unknown, user?: Express.User | false) => void,
) => void;

/**
 * Basic authentication with a secret as user name and no password, as the official clients send it.
 * `passport-http` refuses an empty password.
 */
export class BasicUserNameStrategy extends Strategy {
  // Passport runs each request on an object derived from this one, which lacks `#private` members.
  private readonly verify: Verify;

  constructor(verify: Verify) {
    super();
    this.verify = verify;
  }

  override authenticate(request: Request): void {
    const userName = basicCredentials(request)?.userName;
    if (!userName) return this.fail('Basic');
    this.verify(request, userName, (error, user) => {
      if (error) this.error(error);
      else if (user) this.success(user);
      else this.fail('Basic');
    });
  }
}
