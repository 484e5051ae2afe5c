import { Injectable, Logger } from '@nestjs/common';
import { isWithin, restrict, type Scope } from '../../../platform/auth/scopes.ts';
import { SecretBox } from '../../../platform/base/crypto/secret-box.ts';
import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import { Database } from '../../../platform/database/sql.ts';
import type {
  DirectSignIn,
  OauthDescriptor,
  OauthIdentity,
} from '../../../providers/port/sign-in/oauth-descriptor.ts';
import { OauthIntegrations, type ProviderOauth } from '../../integrations/oauth-integrations.ts';
import { OauthClients } from '../../oauth/oauth-clients.ts';
import { OauthError } from '../../oauth/oauth-error.ts';
import type { AccountCredentials, VerifiedCredentials } from './credentials.ts';
import { openGrantTokens } from './grant-secrets.ts';
import { noScopes } from '../grants.errors.ts';

/** The tokens of a removed grant, with what is needed to revoke them. */
export interface RemovedTokens {
  applicationId: string;
  grantId: string;
  provider: string;
  /** `null` if it is not known. */
  subject: string | null;
  tokensSealed: string;
}

/** Credentials of an account that has its tokens. */
export type CompletedCredentials = AccountCredentials & Pick<VerifiedCredentials, 'covered'>;

const SHARES_CONSENT = `select 1 from "grant" where provider = $1 and subject = $2 limit 1`;

/** Gets the tokens of new OAuth accounts, and revokes the tokens of removed ones. */
@Injectable()
export class OauthCredentials {
  readonly #log = new Logger(OauthCredentials.name);

  constructor(
    private readonly integrations: OauthIntegrations,
    private readonly clients: OauthClients,
    private readonly secretBox: SecretBox,
    private readonly database: Database,
  ) {}

  /**
   * Completes the credentials of an account that signs in by OAuth: exchanges what the settings or
   * the integration have for tokens, and replaces the settings with those of the signed-in account.
   * Other credentials are returned unchanged.
   * @throws {InvalidInputError} if the settings or the integration lack what the provider needs, or
   *   if a caller without the application's secret asks for a credential of the integration
   * @throws {OauthError}
   */
  async complete(
    applicationId: string,
    credentials: AccountCredentials,
  ): Promise<CompletedCredentials> {
    const { provider, email, name, settings, tokens, clientAddress } = credentials;
    const oauth = await this.integrations.find(applicationId, provider);
    if (!oauth) return credentials;
    const { descriptor, integration } = oauth;
    if (tokens) return completed(oauth, credentials, { tokens, identity: null });
    const scopes = credentials.scope ?? oauth.scope;
    const direct = descriptor.direct(settings, integration, { email, scopes });
    if (!direct) return credentials;
    if (direct.ofIntegration && clientAddress !== undefined) {
      throw new InvalidInputError(
        'settings: the credential of the integration opens any mailbox: send the client secret of the application, too',
      );
    }
    const { claims, tokens: obtained } = await this.#obtain(direct);
    const identity = claims && identityOf(descriptor, claims);
    const asked = 'scope' in direct.credential ? direct.credential.scope.split(' ') : null;
    const scopesOfToken = obtained.scopes ?? asked;
    return completed(
      oauth,
      { ...credentials, name: name || identity?.name || '' },
      {
        tokens: { ...obtained, ...(scopesOfToken ? { scopes: scopesOfToken } : {}) },
        identity,
      },
    );
  }

  #obtain({ registration, credential, own }: DirectSignIn) {
    return this.clients
      .obtain(registration, credential, { own })
      .catch((error: unknown) => explainRefused(error, credential.kind));
  }

  /**
   * Asks the issuer in the background to revoke the tokens of a removed grant. Best effort:
   * failures are only logged.
   */
  async forget(removed: RemovedTokens): Promise<void> {
    try {
      await this.#revoke(removed);
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      this.#log.warn(
        `tokens of removed account ${removed.grantId} were not revoked and stay valid until they expire: ${words}`,
      );
    }
  }

  async #revoke(removed: RemovedTokens): Promise<void> {
    const { applicationId, grantId, provider, tokensSealed } = removed;
    const oauth = await this.integrations.find(applicationId, provider);
    const tokens = openGrantTokens(this.secretBox, grantId, tokensSealed);
    const source = { integration: oauth?.integration ?? null, own: tokens.own ?? null };
    const registration = oauth?.descriptor.registration(source) ?? null;
    // Without a refresh token the account had no consent of its own that could be taken back.
    if (oauth && registration && tokens.refreshToken !== null) {
      if (await this.#isShared(oauth.descriptor, removed)) return;
      if (await this.clients.revoke(registration, tokens)) {
        this.#log.log(`tokens of removed account ${grantId} were revoked`);
        return;
      }
    }
    this.#log.log(
      `tokens of removed account ${grantId} were not revoked: no integration or issuer supports it`,
    );
  }

  /** Whether revoking would also end another account of the same user. */
  async #isShared(
    { revokesWholeConsent }: OauthDescriptor,
    { provider, subject }: RemovedTokens,
  ): Promise<boolean> {
    if (!revokesWholeConsent || subject === null) return false;
    return (await this.database.query(SHARES_CONSENT, [provider, subject])).length > 0;
  }
}

/**
 * Reads the claims of a verified id token.
 * @throws {OauthError} `denied` if the address is not the user's
 */
export function identityOf(
  descriptor: OauthDescriptor,
  claims: Readonly<Record<string, unknown>>,
): OauthIdentity {
  const identity = descriptor.identity(claims);
  if (identity !== 'unverified') return identity;
  throw new OauthError(
    'denied',
    'the authorization server has not verified the address of this user',
  );
}

/**
 * Compares the scopes that a user allowed with the scopes that the sign-in asked for.
 * @param asked the provider's scopes
 * @param granted the provider's scopes; `undefined` or `null` if the server has not named them
 * @returns `null` if everything was allowed that was asked for
 */
export function coveredScopes(
  descriptor: OauthDescriptor,
  asked: readonly string[],
  granted: readonly string[] | null | undefined,
): readonly Scope[] | null {
  const covered = granted ? descriptor.covered(granted) : null;
  const expected = descriptor.covered(asked);
  return covered === null || isWithin(expected, covered) ? null : covered;
}

function completed(
  { descriptor, integration, scope }: ProviderOauth,
  credentials: AccountCredentials,
  {
    tokens,
    identity,
  }: Pick<Required<AccountCredentials>, 'tokens'> & {
    identity: OauthIdentity | null;
  },
): CompletedCredentials {
  const { provider, settings, claimedEmail = null, subject = null } = credentials;
  const claimed = identity?.email ?? claimedEmail;
  const email = (credentials.email || claimed || '').toLowerCase();
  const source = { integration, own: tokens.own ?? null };
  const asked = credentials.scope ?? scope;
  const covered = coveredScopes(descriptor, descriptor.scopesFor(asked, source), tokens.scopes);
  if (covered && restrict(asked, covered)?.length === 0) throw noScopes(provider);
  const rest = Object.fromEntries(
    Object.entries(settings).filter(([name]) => !descriptor.signInSettings.includes(name)),
  );
  return {
    provider,
    email,
    name: credentials.name,
    settings: descriptor.accountSettings(source, { email, settings: rest }),
    tokens,
    claimedEmail: claimed,
    subject: identity?.subject ?? subject,
    covered,
  };
}

/** Names the setting in the error of a refused credential. */
function explainRefused(error: unknown, kind: string): never {
  const words = kind === 'refresh-token' ? 'settings.refresh_token' : 'settings';
  if (error instanceof OauthError && error.failure === 'refused')
    throw new OauthError('refused', `${words}: ${error.message}`);
  throw error;
}
