import type { SecretBox } from '../common/crypto/secret-box.ts';

/** What a sealed client secret is bound to. */
export const applicationSecretContext = (applicationId: string): string =>
  `application.secret:${applicationId}`;

/** Seals a client secret for its row. */
export function sealApplicationSecret(box: SecretBox, applicationId: string, secret: string): string {
  return box.seal(secret, applicationSecretContext(applicationId));
}

/**
 * The client secret of an application, from `application.secret_sealed`: the key of webhook signatures.
 * @throws {UnsealError}
 */
export function openApplicationSecret(box: SecretBox, applicationId: string, sealed: string): string {
  return box.open(sealed, applicationSecretContext(applicationId));
}
