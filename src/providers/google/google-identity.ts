import { z } from 'zod';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { EgressClient } from '../../platform/egress/egress-client.ts';
import type { ProviderAccount, VerifiedAccount } from '../port/connector.ts';
import { RestClient } from '../rest/rest-client.ts';
import type { GmailReader } from './gmail/gmail-api.ts';
import { GoogleError, toGoogleError } from './google-error.ts';

const userInfo = z.object({
  sub: z.string(),
  email: z.string().optional(),
  email_verified: z.boolean().optional(),
  name: z.string().optional(),
  /** Domain of the organization that manages the user. */
  hd: z.string().optional(),
});
type UserInfo = z.infer<typeof userInfo>;

/** Finds out whose token an account has. */
export class GoogleIdentity {
  readonly #rest: RestClient;

  /** @param address of the userinfo endpoint */
  constructor(
    private readonly gmail: GmailReader,
    egress: EgressClient,
    clock: Clock,
    private readonly address: string,
  ) {
    this.#rest = new RestClient(egress, clock, { service: 'Google', toError: toGoogleError });
  }

  /**
   * Gmail says whose mailbox the token opens: nobody can connect another one's address. A token
   * without access to mail has only the address of the user.
   * @throws {ProviderError} `auth-invalid` if the token is for another address
   */
  async verify(account: Omit<ProviderAccount, 'accountId'>): Promise<VerifiedAccount> {
    const one = { ...account, accountId: '' };
    const [mailbox, user] = [await this.#mailbox(one), await this.#user(one)];
    const email = (mailbox ?? user?.email)?.toLowerCase();
    const wanted = account.email.toLowerCase();
    if (email === undefined || (wanted !== '' && email !== wanted)) {
      throw new ProviderError(
        'auth-invalid',
        `Google: the token is for ${email ?? 'nobody'}, not for ${account.email}`,
      );
    }
    return {
      email,
      name: account.name || user?.name || email.replace(/@.*$/, ''),
      organizationUnit: 'label',
      proof: mailbox !== null || isOfGoogle(user) ? 'oauth' : null,
      ...(user ? { subject: user.sub } : {}),
    };
  }

  /** @returns `null` if the user has not agreed to any access to mail */
  async #mailbox(account: ProviderAccount): Promise<string | null> {
    try {
      return (await this.gmail.profile(account, 'interactive')).emailAddress;
    } catch (error) {
      if (error instanceof GoogleError && error.isWithoutConsent) return null;
      throw error;
    }
  }

  /** @returns `null` if the token was made without the scope `openid` */
  async #user({ accessToken }: ProviderAccount): Promise<UserInfo | null> {
    try {
      const request = { method: 'GET', url: this.address } as const;
      return await this.#rest.read(accessToken, request, userInfo);
    } catch (error) {
      const isRefused = error instanceof GoogleError && [401, 403].includes(error.status);
      if (isRefused) return null;
      throw error;
    }
  }
}

/**
 * Whether Google itself has the mailbox of this address. It has verified other addresses once, and
 * they may belong to somebody else today.
 */
function isOfGoogle(user: UserInfo | null): boolean {
  if (!user?.email || user.email_verified !== true) return false;
  return user.hd !== undefined || /@(gmail|googlemail)\.com$/i.test(user.email);
}
