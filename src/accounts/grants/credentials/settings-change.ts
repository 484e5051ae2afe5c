import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import { unknownNamesText } from '../../../platform/wire/error-texts.ts';
import type { Connector } from '../../../providers/port/connector.ts';
import {
  declaredSettings,
  knownSettings,
  settingsOfSignIn,
  unknownSettings,
} from '../../../providers/port/sign-in/known-settings.ts';
import type { Grant } from '../grant.entity.ts';
import { isSent } from './shown-settings.ts';

type Settings = Readonly<Record<string, unknown>>;

/**
 * Settings that are read when an account is connected, whatever its provider, and the columns that
 * have them since. A change may repeat them.
 */
const READ_ONCE = {
  email: 'email',
  email_address: 'email',
  username: 'email',
  name: 'name',
} as const;

const isReadOnce = (name: string): name is keyof typeof READ_ONCE => name in READ_ONCE;

/**
 * Refuses settings of a change that would have no effect: settings that the provider does not have,
 * another address or name, and servers of an account whose integration has them.
 * @param shown the settings that the application may read, and may send back
 * @throws {InvalidInputError} naming the settings
 */
export function assertEffective(
  change: Settings,
  grant: Pick<Grant, 'email' | 'name'>,
  connector: Pick<Connector, 'settingsSchema' | 'oauth'>,
  shown: Settings,
): void {
  assertKnown(change, connector);
  const declared = declaredSettings(connector);
  const effective = settingsOfSignIn(connector, change, []);
  for (const [name, value] of Object.entries(change)) {
    if (value === null || value === undefined) continue;
    if (isReadOnce(name) && !declared.has(name)) {
      const stored = grant[READ_ONCE[name]];
      if (!isText(value, stored))
        throw new InvalidInputError(
          `settings.${name}: cannot be changed: the account has ${stored || 'none'}`,
        );
    } else if (!effective.has(name) && !isSent(shown, change, name)) {
      throw new InvalidInputError(
        `settings.${name}: cannot be changed: the account signs in by OAuth, and its integration has this setting`,
      );
    }
  }
}

/** Whether a value is this text, in upper or lower case. */
const isText = (value: unknown, text: string): boolean =>
  typeof value === 'string' && value.trim().toLowerCase() === text.toLowerCase();

/** @throws {InvalidInputError} naming the nearest known settings */
function assertKnown(
  change: Settings,
  connector: Pick<Connector, 'settingsSchema' | 'oauth'>,
): void {
  const known = knownSettings(connector, Object.keys(READ_ONCE));
  const [first, ...others] = unknownSettings(change, known);
  if (!first) return;
  const place = first.place.join('.');
  const names = [first, ...others.filter((other) => other.place.join('.') === place)];
  const text = unknownNamesText(
    names.map(({ name }) => name),
    first.known,
  );
  throw new InvalidInputError(`${place}: ${text}`);
}
