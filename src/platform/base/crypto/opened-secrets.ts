import { monotonicMs } from '../time/clock.ts';
import type { SecretBox } from './secret-box.ts';

/** How long decrypted secrets are cached, and how many. */
const KEPT_MS = 60_000;
const MOST_KEPT = 1_000;

interface Opened {
  since: number;
  /** By context and encrypted text. A new secret has another text. */
  secrets: Map<string, string>;
}

const caches = new WeakMap<SecretBox, Opened>();

/**
 * Decrypts a secret that is needed often, such as the key of signatures: decrypting it costs more
 * than signing with it. Decrypted secrets are cached for at most a minute.
 * @param context the context that the value is bound to, as for `SecretBox.open`
 * @throws {UnsealError}
 */
export function openOften(box: SecretBox, sealed: string, context: string): string {
  const now = monotonicMs();
  let kept = caches.get(box);
  if (!kept || now - kept.since >= KEPT_MS || kept.secrets.size >= MOST_KEPT) {
    kept = { since: now, secrets: new Map() };
    caches.set(box, kept);
  }
  const key = `${context}/${sealed}`;
  let secret = kept.secrets.get(key);
  if (secret === undefined) {
    secret = box.open(sealed, context);
    kept.secrets.set(key, secret);
  }
  return secret;
}
