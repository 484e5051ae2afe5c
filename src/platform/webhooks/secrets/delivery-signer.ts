import { Injectable } from '@nestjs/common';
import { openOften } from '../../base/crypto/opened-secrets.ts';
import { SecretBox } from '../../base/crypto/secret-box.ts';
import { keyOfEndpointSecret, webhookSecretContext } from './endpoint-secret.ts';
import { deliveryHeaders, type SignedDelivery } from './signature.ts';
import { SigningSecrets } from './signing-secrets.ts';

/** The encrypted secrets that sign the deliveries of one webhook, from `SEALED_SECRETS`. */
export interface SealedSecrets {
  applicationId: string;
  /** The client secret. */
  secretSealed: string;
  /** The client secret before the last rotation while it is still valid; otherwise `null`. */
  previousSecretSealed: string | null;
  /** Whether the client secret signs beside the secrets of the webhook; `null` = no. */
  clientSecretSigns: boolean | null;
  /** Valid secrets of the webhook, newest first; `null` if it has none. */
  ownSecrets: { id: string; sealed: string }[] | null;
}

/** Columns of `SealedSecrets`. `w` is the webhook and `a` its application. */
export const SEALED_SECRETS = `
  w.application_id as "applicationId", a.secret_sealed as "secretSealed",
  case when a.previous_secret_until > now() then a.previous_secret_sealed end as "previousSecretSealed",
  w.client_secret_until > now() as "clientSecretSigns",
  (select json_agg(json_build_object('id', s.id, 'sealed', s.secret_sealed) order by s.id desc)
   from webhook_secret s where s.webhook_id = w.id and (s.expires_at is null or s.expires_at > now())) as "ownSecrets"`;

/** Signs deliveries with all valid secrets of their webhook (ADR 0151). */
@Injectable()
export class DeliverySigner {
  constructor(
    private readonly secrets: SigningSecrets,
    private readonly box: SecretBox,
  ) {}

  /**
   * The headers of one attempt. `webhook-signature` has one signature for each valid secret of the
   * webhook, newest first. A webhook without secrets, or for a time after its first one was made,
   * has those of the client secret and of the client secret before the last rotation.
   * `X-Nylas-Signature` is made with the client secret.
   * @throws {UnsealError} if a secret cannot be decrypted
   */
  headers(
    sealed: SealedSecrets,
    delivery: Omit<SignedDelivery, 'secret' | 'keys'>,
  ): Record<string, string> {
    const { applicationId, secretSealed, previousSecretSealed, ownSecrets } = sealed;
    const secret = this.secrets.decrypt(applicationId, secretSealed);
    const keys: (string | Buffer)[] = (ownSecrets ?? []).map((own) =>
      keyOfEndpointSecret(openOften(this.box, own.sealed, webhookSecretContext(own.id))),
    );
    if (keys.length === 0 || sealed.clientSecretSigns) {
      keys.push(secret);
      if (previousSecretSealed !== null)
        keys.push(this.secrets.decrypt(applicationId, previousSecretSealed));
    }
    return deliveryHeaders({ ...delivery, secret, keys });
  }
}
