import type { SecretBox } from '../../../platform/base/crypto/secret-box.ts';
import type { OauthTokens } from '../../../providers/port/sign-in/oauth-descriptor.ts';
import type { Grant } from '../grant.entity.ts';

/**
 * Context that the encrypted settings of a grant are bound to: they decrypt only in the row of this
 * grant.
 */
export const grantSettingsContext = (grantId: string): string => `grant.settings:${grantId}`;

/** Context that the encrypted tokens of a grant are bound to. */
export const grantTokensContext = (grantId: string): string => `grant.tokens:${grantId}`;

/**
 * Encrypts new credentials and stores them in a grant. Accounts with passwords have settings only.
 * A token refresh that is still running finds another version and does not overwrite these
 * credentials.
 */
export function storeCredentials(
  box: SecretBox,
  grant: Grant,
  { settings, tokens }: { settings: Readonly<Record<string, unknown>>; tokens?: OauthTokens },
): void {
  grant.settingsSealed = sealGrantSettings(box, grant.id, settings);
  grant.tokensSealed = tokens ? sealGrantTokens(box, grant.id, tokens) : null;
  grant.tokenVersion += 1;
  grant.tokenLeaseUntil = null;
}

/** Encrypts the provider settings of a grant for its row. */
export function sealGrantSettings(
  box: SecretBox,
  grantId: string,
  settings: Readonly<Record<string, unknown>>,
): string {
  return box.sealJson(settings, grantSettingsContext(grantId));
}

/** @throws {UnsealError} */
export function openGrantSettings(
  box: SecretBox,
  grantId: string,
  sealed: string,
): Record<string, unknown> {
  return box.openJson(sealed, grantSettingsContext(grantId)) as Record<string, unknown>;
}

export function sealGrantTokens(box: SecretBox, grantId: string, tokens: OauthTokens): string {
  return box.sealJson(tokens, grantTokensContext(grantId));
}

/** @throws {UnsealError} */
export function openGrantTokens(box: SecretBox, grantId: string, sealed: string): OauthTokens {
  return box.openJson(sealed, grantTokensContext(grantId)) as OauthTokens;
}
