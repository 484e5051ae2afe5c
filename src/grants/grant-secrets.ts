import type { SecretBox } from '../common/crypto/secret-box.ts';

/** What the sealed settings of a grant are bound to. */
export const grantSettingsContext = (grantId: string): string => `grant.settings:${grantId}`;

/** Seals the provider settings of a grant for its row. */
export function sealGrantSettings(
  box: SecretBox,
  grantId: string,
  settings: Readonly<Record<string, unknown>>,
): string {
  return box.sealJson(settings, grantSettingsContext(grantId));
}

/** @throws {UnsealError} */
export function openGrantSettings(box: SecretBox, grantId: string, sealed: string): Record<string, unknown> {
  return box.openJson(sealed, grantSettingsContext(grantId)) as Record<string, unknown>;
}
