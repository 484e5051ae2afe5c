import type { SecretBox } from '../../platform/base/crypto/secret-box.ts';

/** Context that the encrypted settings of an integration are bound to. */
export const integrationSecretContext = (integrationId: string): string =>
  `integration.settings:${integrationId}`;

/** The settings of an integration that are never shown, with their names in the API. */
export type IntegrationSecrets = Readonly<Record<string, string>>;

/**
 * Encrypts the secret settings of an integration for its row.
 * @returns `null` if there are none
 */
export function sealIntegrationSecrets(
  box: SecretBox,
  integrationId: string,
  secrets: IntegrationSecrets,
): string | null {
  if (Object.keys(secrets).length === 0) return null;
  return box.sealJson(secrets, integrationSecretContext(integrationId));
}

/** @throws {UnsealError} */
export function openIntegrationSecrets(
  box: SecretBox,
  integrationId: string,
  sealed: string,
): IntegrationSecrets {
  return box.openJson(sealed, integrationSecretContext(integrationId)) as IntegrationSecrets;
}
