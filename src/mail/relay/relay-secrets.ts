import type { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import type { RelaySettings } from '../../providers/port/relay.ts';

/** What the sealed settings of a mailing service are bound to. */
export const relaySettingsContext = (applicationId: string): string =>
  `relay.settings:${applicationId}`;

/** Seals the settings of an application's mailing service for its row. */
export function sealRelaySettings(
  box: SecretBox,
  applicationId: string,
  settings: RelaySettings,
): string {
  return box.sealJson(settings, relaySettingsContext(applicationId));
}

/** @throws {UnsealError} */
export function openRelaySettings(
  box: SecretBox,
  applicationId: string,
  sealed: string,
): RelaySettings {
  return box.openJson(sealed, relaySettingsContext(applicationId)) as RelaySettings;
}
