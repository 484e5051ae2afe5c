import type { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import type { RelaySettings } from '../../providers/port/mail/relay.ts';

/** Context that the encrypted settings of a mailing service are bound to. */
export const relaySettingsContext = (applicationId: string): string =>
  `relay.settings:${applicationId}`;

/** Encrypts the settings of an application's mailing service for its row. */
export function sealRelaySettings(
  box: SecretBox,
  applicationId: string,
  settings: RelaySettings,
): string {
  return box.sealJson(settings, relaySettingsContext(applicationId));
}

/**
 * Decrypts the settings of an application's mailing service.
 * @throws {UnsealError}
 */
export function openRelaySettings(
  box: SecretBox,
  applicationId: string,
  sealed: string,
): RelaySettings {
  return box.openJson(sealed, relaySettingsContext(applicationId)) as RelaySettings;
}
