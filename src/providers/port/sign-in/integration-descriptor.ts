import { z, type ZodObject } from 'zod';

/** Settings of an integration that are shown: all except its secrets. */
export type ShownSettings = Record<string, string | number | boolean>;

/** The settings of an application's integration, with their names in the API. */
export interface IntegrationValues {
  settings: Readonly<ShownSettings>;
  secrets: Readonly<Record<string, string>>;
}

/** What applications can set in their integration for a provider. Uses no network. */
export interface IntegrationDescriptor {
  /**
   * Validates the settings of a request: a strict object in which every field may be absent or
   * null. The value `''` removes a setting.
   */
  readonly settingsSchema: ZodObject;
  /** Settings that are stored encrypted and never shown. */
  readonly secrets: readonly string[];
  /** Settings with URLs, which the egress policy must allow. */
  readonly addresses: readonly string[];
  /** Settings that decide where secrets are sent: a change of one requires the secrets again. */
  readonly secretsGoTo: readonly string[];
  /**
   * Checks that all settings of an integration fit together.
   * @returns names of missing settings, or one setting that must not be there and why; `null` if
   *   nothing is wrong
   */
  problem(values: IntegrationValues): IntegrationProblem | null;
}

export type IntegrationProblem =
  | { missing: readonly string[]; /** For what, in words. */ for: string }
  | { setting: string; text: string };

/** A text of an integration's settings. */
export const textSetting = () =>
  z.string().trim().max(2000, 'must not be longer than 2000 characters').nullish();

/** The settings that applications may send for every provider, even if it needs none. */
export const COMMON_SETTINGS = {
  client_id: textSetting(),
  client_secret: textSetting(),
  tenant: textSetting(),
};

/** The integration of a provider that has nothing to set. */
export const PLAIN_INTEGRATION: IntegrationDescriptor = {
  settingsSchema: z.strictObject(COMMON_SETTINGS),
  secrets: ['client_secret'],
  addresses: [],
  secretsGoTo: [],
  problem: () => null,
};
