import { Injectable } from '@nestjs/common';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import { monotonicMs } from '../../platform/base/time/clock.ts';
import { SigningSecrets } from '../../platform/webhooks/signing-secrets.ts';

/** What a sealed client secret is bound to. */
export const applicationSecretContext = (applicationId: string): string =>
  `application.secret:${applicationId}`;

/** Opened secrets are kept this long, so many of them: opening one costs more than signing with it. */
const KEPT_MS = 60_000;
const MOST_KEPT = 1_000;

interface Opened {
  since: number;
  /** By sealed text and application: whoever has got another secret has another text. */
  secrets: Map<string, string>;
}

const opened = new WeakMap<SecretBox, Opened>();

/** Seals a client secret for its row. */
export function sealApplicationSecret(
  box: SecretBox,
  applicationId: string,
  secret: string,
): string {
  return box.seal(secret, applicationSecretContext(applicationId));
}

/**
 * The client secret of an application, from `application.secret_sealed`: the key of signatures. What has been opened is
 * remembered for a minute at most.
 * @throws {UnsealError}
 */
export function openApplicationSecret(
  box: SecretBox,
  applicationId: string,
  sealed: string,
): string {
  const now = monotonicMs();
  let kept = opened.get(box);
  if (!kept || now - kept.since >= KEPT_MS || kept.secrets.size >= MOST_KEPT) {
    kept = { since: now, secrets: new Map() };
    opened.set(box, kept);
  }
  const key = `${applicationId}/${sealed}`;
  let secret = kept.secrets.get(key);
  if (secret === undefined) {
    secret = box.open(sealed, applicationSecretContext(applicationId));
    kept.secrets.set(key, secret);
  }
  return secret;
}

/** Client secrets as the keys of webhook deliveries. */
@Injectable()
export class ApplicationSigningSecrets extends SigningSecrets {
  constructor(private readonly box: SecretBox) {
    super();
  }

  override open(applicationId: string, sealed: string): string {
    return openApplicationSecret(this.box, applicationId, sealed);
  }
}
