import { Injectable, Logger } from '@nestjs/common';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { OAUTH_PROVIDER } from '../integrations/integration-oauth.ts';
import { OauthIntegrations } from '../integrations/oauth-integrations.ts';
import { OauthClients } from '../oauth/oauth-clients.ts';
import { OauthError } from '../oauth/oauth-error.ts';
import type { OauthTokens } from '../oauth/oauth-registration.ts';
import type { AccountCredentials } from './credentials.ts';
import { openGrantTokens } from './grant-secrets.ts';

/** The tokens of a removed grant, with what is needed to revoke them. */
export interface RemovedTokens {
  applicationId: string;
  grantId: string;
  provider: string;
  tokensSealed: string;
}

/** Gets the tokens of new OAuth accounts, and revokes the tokens of removed ones. */
@Injectable()
export class OauthCredentials {
  readonly #log = new Logger(OauthCredentials.name);

  constructor(
    private readonly integrations: OauthIntegrations,
    private readonly clients: OauthClients,
    private readonly secretBox: SecretBox,
  ) {}

  /**
   * Completes the credentials of an account that signs in by OAuth: exchanges a `refresh_token` in
   * the settings for tokens, and replaces the settings with the servers of the integration. Other
   * credentials are returned unchanged.
   * @throws {InvalidInputError} if the integration has no OAuth settings
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
      throw new InvalidInputError('settings.refresh_token: must be a non-empty text');
    }
    const oauth = await this.integrations.find(applicationId, provider);
    if (!oauth) {
      throw new InvalidInputError(
        `settings.refresh_token: accounts of the integration for ${provider} do not sign in by OAuth`,
      );
    }
    const signedIn = tokens
      ? { tokens, email: claimedEmail, name: null }
      : await this.clients
          .signInWith(oauth.registration, String(refreshToken))
          .catch(explainRefusedToken);
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
      settings: oauth.settingsOf(address),
      tokens: signedIn.tokens,
      claimedEmail: signedIn.email,
    };
  }

  /**
   * Asks the issuer in the background to revoke the tokens of a removed grant. Best effort:
   * failures are only logged.
   */
  forget(removed: RemovedTokens): void {
    this.#revoke(removed).catch((error: unknown) => {
      const words = error instanceof Error ? error.message : String(error);
      this.#log.warn(
        `tokens of removed account ${removed.grantId} were not revoked and stay valid until they expire: ${words}`,
      );
    });
  }

  async #revoke({ applicationId, grantId, provider, tokensSealed }: RemovedTokens): Promise<void> {
    const oauth = await this.integrations.find(applicationId, provider);
    const tokens: OauthTokens = openGrantTokens(this.secretBox, grantId, tokensSealed);
    const isRevoked = oauth !== null && (await this.clients.revoke(oauth.registration, tokens));
    if (!isRevoked)
      this.#log.log(
        `tokens of removed account ${grantId} were not revoked: no integration or issuer supports it`,
      );
  }
}

/** Names the setting in the error of a refused refresh token. */
function explainRefusedToken(error: unknown): never {
  if (error instanceof OauthError && error.failure === 'refused')
    throw new OauthError('refused', `settings.refresh_token: ${error.message}`);
  throw error;
}
