import type { Sql } from '../../database/sql.ts';

/** A secret of a webhook, without its value. */
export interface StoredSecret {
  id: string;
  createdAt: Date;
  /** From then on it signs nothing; `null`: it signs until it is replaced or deleted. */
  expiresAt: Date | null;
}

/** A secret to store. */
export interface NewSecret {
  id: string;
  webhookId: string;
  sealed: string;
  at: Date;
  /** When the secrets before it end. */
  othersUntil: Date;
}

const validAt = (now: string) => `(expires_at is null or expires_at > ${now})`;

const LIST = `
  select id, created_at as "createdAt", expires_at as "expiresAt" from webhook_secret
  where webhook_id = $1 and ${validAt('$2')} order by id`;

/** Valid secrets of a webhook, oldest first. */
export function validSecrets(sql: Sql, webhookId: string, now: Date): Promise<StoredSecret[]> {
  return sql.query(LIST, [webhookId, now]);
}

// "no key" lets other transactions queue deliveries.
const LOCK = `
  select 1 from webhook where id = $1 and application_id = $2 for no key update`;

/**
 * Locks a webhook while its secrets change, so that requests of the same moment do so one after the
 * other.
 * @returns `false` if the application has no such webhook
 */
export async function lockWebhook(
  sql: Sql,
  webhookId: string,
  applicationId: string,
): Promise<boolean> {
  return (await sql.query(LOCK, [webhookId, applicationId])).length > 0;
}

// The client secret is what the first secret replaces. Later ones only replace secrets of the
// webhook, and must not let the client secret sign for longer.
const INSERT = `
  with others as (
    update webhook_secret set expires_at = least(expires_at, $5)
    where webhook_id = $2 and ${validAt('$4')} returning 1),
  first_of_webhook as (
    update webhook set client_secret_until = $5 where id = $2 and not exists (select 1 from others)),
  others_of_webhook as (
    update webhook set client_secret_until = least(client_secret_until, $5)
    where id = $2 and exists (select 1 from others) and client_secret_until is not null)
  insert into webhook_secret (id, webhook_id, secret_sealed, created_at) values ($1, $2, $3, $4)`;

/**
 * Stores a secret, and ends the others: those of the webhook, or the client secret if there are
 * none. One that ends earlier already keeps its end.
 */
export async function insertSecret(
  sql: Sql,
  { id, webhookId, sealed, at, othersUntil }: NewSecret,
): Promise<void> {
  await sql.query(INSERT, [id, webhookId, sealed, at, othersUntil]);
}

const DELETE = `
  delete from webhook_secret where webhook_id = $1 and ${validAt('$2')} and id = $3 returning 1`;

/** @returns `false` if the webhook has no such valid secret */
export async function deleteSecret(
  sql: Sql,
  webhookId: string,
  now: Date,
  id: string,
): Promise<boolean> {
  return (await sql.query(DELETE, [webhookId, now, id])).length > 0;
}
