import type { OauthTokens } from '../../../providers/port/sign-in/oauth-descriptor.ts';
import type { ProviderAccount } from '../../../providers/port/connector.ts';

export interface VersionedTokens {
  version: number;
  tokens: OauthTokens;
}

export function withToken<A extends ProviderAccount>(
  account: A,
  { version, tokens }: VersionedTokens,
): A {
  const { accessToken, obtainedAt, expiresAt, scopes = null } = tokens;
  return {
    ...account,
    accessToken,
    token: { version, obtainedAt, expiresAt },
    ...(scopes ? { providerScopes: scopes } : {}),
  };
}

const MOST_AHEAD_MS = 5 * 60_000;
const AHEAD_PART = 5;

/**
 * When to replace a token, in milliseconds since the epoch: five minutes before it expires, or
 * after four fifths of its life if it lives less than 25 minutes. `null` if the token has no known
 * expiry; then it is used until the provider refuses it.
 */
export function replacedAt({
  obtainedAt,
  expiresAt,
}: Pick<OauthTokens, 'obtainedAt' | 'expiresAt'>): number | null {
  if (expiresAt === null) return null;
  return expiresAt - Math.max(0, Math.min(MOST_AHEAD_MS, (expiresAt - obtainedAt) / AHEAD_PART));
}
