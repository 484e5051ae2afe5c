import { randomBytes } from 'node:crypto';

/*
 * Keys of bodies in the object store: `account/message/random`. The prefix of an account contains
 * all its bodies and nothing else. A key is used once: a changed body gets another one.
 */

const KEY = /^([0-9a-f-]{36})\/([0-9a-f-]{36})\/[\w-]{22}$/;

/** A key that was never used before. */
export const newBodyKey = (accountId: string, messageId: string): string =>
  `${prefixOf(accountId)}${messageId}/${randomBytes(16).toString('base64url')}`;

/** The beginning of all keys of an account. */
export const prefixOf = (accountId: string): string => `${accountId}/`;

/** Whose body a key names; `null` if the key is not one of ours. */
export function readBodyKey(key: string): { accountId: string; messageId: string } | null {
  const [, accountId, messageId] = KEY.exec(key) ?? [];
  return accountId && messageId ? { accountId, messageId } : null;
}
