import type { SecretBox } from '../../../platform/base/crypto/secret-box.ts';
import type { Connector } from '../../../providers/port/connector.ts';
import { openGrantSettings } from './grant-secrets.ts';
import type { Grant } from '../grant.entity.ts';

/**
 * The stored settings of a grant that its application may read. A client may send them back with a
 * change. A URL with a user name or password is left out.
 */
export function shownSettings(
  { shownSettings: names = [] }: Pick<Connector, 'shownSettings'>,
  box: SecretBox,
  { id, settingsSealed }: Pick<Grant, 'id' | 'settingsSealed'>,
): Record<string, unknown> {
  const stored = openGrantSettings(box, id, settingsSealed);
  const shown = names.filter((name) => stored[name] !== undefined && !isSecretUrl(stored[name]));
  return Object.fromEntries(shown.map((name) => [name, stored[name]]));
}

/**
 * Whether a client sends back only what it has read of an account that signed in by OAuth. Such a
 * change has no credential with which it could be verified.
 */
export function isRepeated(
  { tokensSealed }: Pick<Grant, 'tokensSealed'>,
  shown: Readonly<Record<string, unknown>>,
  change: Readonly<Record<string, unknown>>,
): boolean {
  if (tokensSealed === null) return false;
  return Object.keys(change).every((name) => isSent(shown, change, name));
}

/** Whether a change has a setting as it was shown. */
export function isSent(
  shown: Readonly<Record<string, unknown>>,
  change: Readonly<Record<string, unknown>>,
  name: string,
): boolean {
  const value = change[name];
  if (!(name in shown)) return false;
  // Java's client reads every number as a decimal.
  return (
    shown[name] === value || (typeof shown[name] === 'number' && shown[name] === Number(value))
  );
}

function isSecretUrl(value: unknown): boolean {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  return Boolean(url?.username || url?.password);
}
