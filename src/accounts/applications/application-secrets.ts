import { Injectable } from '@nestjs/common';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import { monotonicMs } from '../../platform/base/time/clock.ts';
import { SigningSecrets } from '../../platform/webhooks/delivery/signing-secrets.ts';
import { applicationSecretContext } from './secret-context.ts';

/**
 * How long decrypted secrets are cached, and how many. Decrypting one costs more than signing with
 * it.
 */
const KEPT_MS = 60_000;
const MOST_KEPT = 1_000;

interface Decrypted {
  since: number;
  /** By application and encrypted text. A new secret has another text. */
  secrets: Map<string, string>;
}

const caches = new WeakMap<SecretBox, Decrypted>();

/** Encrypts a client secret for its row. */
export function sealApplicationSecret(
  box: SecretBox,
  applicationId: string,
  secret: string,
): string {
  return box.seal(secret, applicationSecretContext(applicationId));
}

/**
 * Decrypts the client secret of an application, from `application.secret_sealed`. It is the key for
 * signatures. Decrypted secrets are cached for at most a minute.
 * @throws {UnsealError}
 */
export function openApplicationSecret(
  box: SecretBox,
  applicationId: string,
  sealed: string,
): string {
  const now = monotonicMs();
  let kept = caches.get(box);
  if (!kept || now - kept.since >= KEPT_MS || kept.secrets.size >= MOST_KEPT) {
    kept = { since: now, secrets: new Map() };
    caches.set(box, kept);
  }
  const key = `${applicationId}/${sealed}`;
  let secret = kept.secrets.get(key);
  if (secret === undefined) {
    secret = box.open(sealed, applicationSecretContext(applicationId));
    kept.secrets.set(key, secret);
  }
  return secret;
}

/** Client secrets as the keys that sign webhook deliveries. */
@Injectable()
export class ApplicationSigningSecrets extends SigningSecrets {
  constructor(private readonly box: SecretBox) {
    super();
  }

  override decrypt(applicationId: string, sealed: string): string {
    return openApplicationSecret(this.box, applicationId, sealed);
  }
}
