import {
  bodyShape,
  type BodyShape,
  type UnknownField,
  unknownFields,
} from '../../../platform/wire/body-fields.ts';
import type { Connector } from '../connector.ts';

/** The settings that a request may give: their names, and what is known of their values. */
export type KnownSettings = ReadonlyMap<string, BodyShape | undefined>;

/** More than any response names. */
const MOST_FOUND = 20;

/** The settings of a connector's schema. */
export function declaredSettings({
  settingsSchema,
}: Pick<Connector, 'settingsSchema'>): KnownSettings {
  return bodyShape(settingsSchema)?.fields ?? new Map<string, undefined>();
}

/**
 * All settings that accounts of a connector may have, also those that only sign-ins read.
 * @param others further names that the request may have
 */
export function knownSettings(
  connector: Pick<Connector, 'settingsSchema' | 'oauth'>,
  others: readonly string[],
): KnownSettings {
  const declared = declaredSettings(connector);
  const names = [...(connector.oauth?.signInSettings ?? []), ...others];
  const further = names.filter((name) => !declared.has(name));
  return new Map([...declared, ...further.map((name) => [name, undefined] as const)]);
}

/**
 * Settings that have an effect when an account is connected.
 * @param given those of the request
 * @param others further names that the request may have
 */
export function settingsOfSignIn(
  connector: Pick<Connector, 'settingsSchema' | 'oauth'>,
  given: Readonly<Record<string, unknown>>,
  others: readonly string[],
): KnownSettings {
  const { signInSettings = [], hasOnlySignInSettings = false } = connector.oauth ?? {};
  if (!hasOnlySignInSettings || signInSettings.every((name) => given[name] === undefined))
    return knownSettings(connector, others);
  return new Map([...signInSettings, ...others].map((name) => [name, undefined]));
}

/** The settings of a request that are not known, also those within other settings. */
export function unknownSettings(
  settings: Readonly<Record<string, unknown>>,
  known: KnownSettings,
): UnknownField[] {
  const shape = { fields: new Map([['settings', { fields: new Map(known) }]]) };
  return unknownFields({ settings }, shape, MOST_FOUND);
}
