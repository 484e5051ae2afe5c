import { Injectable } from '@nestjs/common';
import { recordAudit } from '../../audit/record-audit.ts';
import { SecretBox } from '../../base/crypto/secret-box.ts';
import { NotFoundError } from '../../base/errors/domain-error.ts';
import { isId, newId } from '../../base/ids/ids.ts';
import { Clock } from '../../base/time/clock.ts';
import { Database, type Sql } from '../../database/sql.ts';
import { WebhookSecretsFullError } from '../webhook.errors.ts';
import { WebhooksService } from '../webhooks.service.ts';
import { newEndpointSecret, webhookSecretContext } from './endpoint-secret.ts';
import {
  deleteSecret,
  insertSecret,
  lockWebhook,
  type StoredSecret,
  validSecrets,
} from './webhook-secrets.repository.ts';

/** How many valid secrets a webhook may have. Each delivery is signed with all of them. */
export const MOST_SECRETS = 5;

/** A new secret with its value, which cannot be read again. */
export interface CreatedSecret {
  id: string;
  /** `whsec_` and the base64 text of the 32 bytes that sign. */
  secret: string;
  createdAt: Date;
  /** When the secrets before it end. */
  previousUntil: Date;
}

/** Signing secrets of webhooks. Every query is limited to one application. */
@Injectable()
export class WebhookSecretsService {
  constructor(
    private readonly webhooks: WebhooksService,
    private readonly database: Database,
    private readonly box: SecretBox,
    private readonly clock: Clock,
  ) {}

  /**
   * Valid secrets, oldest first, without their values.
   * @throws {NotFoundError} if the application has no such webhook
   */
  async list(applicationId: string, webhookId: string): Promise<StoredSecret[]> {
    const { id } = await this.webhooks.get(applicationId, webhookId);
    return validSecrets(this.database, id, this.clock.now());
  }

  /**
   * Creates a secret. It signs from the commit on. The secrets before it, or the client secret if
   * there are none, sign as well for a time.
   * @param keepPreviousSeconds how long; 0: they end at once
   * @throws {NotFoundError} if the application has no such webhook
   * @throws {WebhookSecretsFullError} if it has `MOST_SECRETS` that would still be valid
   */
  create(
    applicationId: string,
    webhookId: string,
    keepPreviousSeconds: number,
  ): Promise<CreatedSecret> {
    const secret = newEndpointSecret();
    const id = newId();
    const sealed = this.box.seal(secret, webhookSecretContext(id));
    return this.#change(applicationId, webhookId, async (sql) => {
      const at = this.clock.now();
      const others = await validSecrets(sql, webhookId, at);
      if (keepPreviousSeconds > 0 && others.length >= MOST_SECRETS)
        throw new WebhookSecretsFullError(MOST_SECRETS);
      const othersUntil = new Date(at.getTime() + keepPreviousSeconds * 1_000);
      await insertSecret(sql, { id, webhookId, sealed, at, othersUntil });
      const details = { secret: id, previousUntil: othersUntil };
      await record(sql, applicationId, webhookId, 'create-secret', details);
      return { id, secret, createdAt: at, previousUntil: othersUntil };
    });
  }

  /**
   * Deletes a secret: it signs nothing more from the commit on. After the last one, the client
   * secret signs again.
   * @throws {NotFoundError} if the application has no such webhook, or the webhook no such secret
   */
  async delete(applicationId: string, webhookId: string, id: string): Promise<void> {
    await this.#change(applicationId, webhookId, async (sql) => {
      const isDeleted = isId(id) && (await deleteSecret(sql, webhookId, this.clock.now(), id));
      if (!isDeleted) throw new NotFoundError('secret', id);
      await record(sql, applicationId, webhookId, 'delete-secret', { secret: id });
    });
  }

  /** Runs the work in a transaction that has locked the webhook. @throws {NotFoundError} */
  #change<T>(applicationId: string, webhookId: string, work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.database.transaction(async (sql) => {
      const isKnown = isId(webhookId) && (await lockWebhook(sql, webhookId, applicationId));
      if (!isKnown) throw new NotFoundError('webhook', webhookId);
      return work(sql);
    });
  }
}

/** The entry names the secret by its id. Its value is nowhere but in the response. */
function record(
  sql: Sql,
  applicationId: string,
  webhookId: string,
  what: 'create-secret' | 'delete-secret',
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  const target = { type: 'webhook', id: webhookId };
  return recordAudit(sql, { action: `webhook.${what}`, target, applicationId, details });
}
