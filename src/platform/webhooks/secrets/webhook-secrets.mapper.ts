import { toUnixSeconds, toUnixSecondsOrNull } from '../../base/time/unix-seconds.ts';
import type { StoredSecret } from './webhook-secrets.repository.ts';
import type { CreatedWebhookSecretView, WebhookSecretView } from './webhook-secrets.schema.ts';
import type { CreatedSecret } from './webhook-secrets.service.ts';

export function toWebhookSecretView({ id, createdAt, expiresAt }: StoredSecret): WebhookSecretView {
  return { id, created_at: toUnixSeconds(createdAt), expires_at: toUnixSecondsOrNull(expiresAt) };
}

export function toCreatedWebhookSecretView(created: CreatedSecret): CreatedWebhookSecretView {
  return {
    ...toWebhookSecretView({ ...created, expiresAt: null }),
    secret: created.secret,
    previous_expires_at: toUnixSeconds(created.previousUntil),
  };
}
