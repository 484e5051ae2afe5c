import { Injectable } from '@nestjs/common';
import { openOften } from '../../platform/base/crypto/opened-secrets.ts';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import { SigningSecrets } from '../../platform/webhooks/delivery/signing-secrets.ts';
import { applicationSecretContext } from './secret-context.ts';

/** Encrypts a client secret for its row. */
export function sealApplicationSecret(
  box: SecretBox,
  applicationId: string,
  secret: string,
): string {
  return box.seal(secret, applicationSecretContext(applicationId));
}

/**
 * Decrypts the client secret of an application, from `application.secret_sealed` or
 * `previous_secret_sealed`. It is the key for signatures. Decrypted secrets are cached for at most
 * a minute.
 * @throws {UnsealError}
 */
export function openApplicationSecret(
  box: SecretBox,
  applicationId: string,
  sealed: string,
): string {
  return openOften(box, sealed, applicationSecretContext(applicationId));
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
