import { Injectable, Logger } from '@nestjs/common';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { OAUTH_PROVIDER } from '../integrations/integration-oauth.ts';
import { OauthIntegrations } from '../integrations/oauth-integrations.ts';
import { OauthClients } from '../oauth/oauth-clients.ts';
import type { OauthTokens } from '../oauth/oauth-registration.ts';
import type { AccountCredentials } from './credentials.ts';
import { openGrantTokens } from './grant-secrets.ts';

/** What is left of a grant that was removed. */
export interface RemovedTokens {
  applicationId: string;
  grantId: string;
  provider: string;
  tokensSealed: string;
}

/** Tokens on their way into an account, and out of it. */
@Injectable()
export class OauthCredentials {
  readonly #log = new Logger(OauthCredentials.name);

  constructor(
    private readonly integrations: OauthIntegrations,
    private readonly clients: OauthClients,
    private readonly secretBox: SecretBox,
  ) {}

  /**
   * Completes credentials of an account that signs in by OAuth: exchanges a `refresh_token` among the settings (spec 2.2)
   * for tokens, and gives it the servers of its integration instead of the settings. All others stay as they are.
   * @throws {InvalidInputError} when the integration has no OAuth
   * @throws {OauthError}
   */
  async complete(
    applicationId: string,
    credentials: AccountCredentials,
  ): Promise<AccountCredentials> {
    const { provider, email, name, settings, tokens, claimedEmail = null } = credentials;
    const refreshToken = settings['refresh_token'];
    if (provider !== OAUTH_PROVIDER || (!tokens && refreshToken === undefined)) return credentials;
    if (!tokens && (typeof refreshToken !== 'string' || !refreshToken)) {
      throw new InvalidInputError('settings.refresh_token: must be a text that is not empty');
    }
    const way = await this.integrations.find(applicationId, provider);
    if (!way) {
      throw new InvalidInputError(
        `settings.refresh_token: accounts of the integration for ${provider} do not sign in by OAuth`,
      );
    }
    const signedIn = tokens
      ? { tokens, email: claimedEmail, name: null }
      : await this.clients.signInWith(way.registration, String(refreshToken));
    const address = (email || signedIn.email || '').toLowerCase();
    if (!address) {
      throw new InvalidInputError('settings.email: the address of the account is required', {
        missingFields: ['settings.email'],
      });
    }
    return {
      provider,
      email: address,
      name: name || signedIn.name || '',
      settings: way.settingsOf(address),
      tokens: signedIn.tokens,
      claimedEmail: signedIn.email,
    };
  }

  /**
   * Tells the issuer that the tokens of a removed grant are not used any more. Best effort: what goes wrong is logged, and
   * nobody waits for it.
   */
  forget(removed: RemovedTokens): void {
    this.#revoke(removed).catch((error: unknown) => {
      const words = error instanceof Error ? error.message : String(error);
      this.#log.warn(`the tokens of removed account ${removed.grantId} were not revoked: ${words}`);
    });
  }

  async #revoke({ applicationId, grantId, provider, tokensSealed }: RemovedTokens): Promise<void> {
    const way = await this.integrations.find(applicationId, provider);
    const tokens: OauthTokens = openGrantTokens(this.secretBox, grantId, tokensSealed);
    const told = way !== null && (await this.clients.revoke(way.registration, tokens));
    if (!told) this.#log.log(`there is nobody to revoke the tokens of removed account ${grantId}`);
  }
}
