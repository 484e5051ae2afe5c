import type { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import type { OauthTokens } from '../oauth/oauth-registration.ts';
import type { Grant } from './grant.entity.ts';

/** What the sealed settings of a grant are bound to. */
export const grantSettingsContext = (grantId: string): string => `grant.settings:${grantId}`;

/** What the sealed tokens of a grant are bound to. */
export const grantTokensContext = (grantId: string): string => `grant.tokens:${grantId}`;

/**
 * Puts new credentials into a grant, sealed: for password accounts settings alone. Whoever refreshes the tokens before
 * finds another version and leaves these alone.
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

/** Seals the provider settings of a grant for its row. */
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
