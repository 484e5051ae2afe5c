import { newId } from '../common/ids/ids.ts';
import { toUnixSeconds } from '../common/time/unix-seconds.ts';
import type { Sql } from '../database/sql.ts';
import type { Trigger } from '../webhooks/webhook-state.ts';

/** Kinds of objects in the log; `job_status` and `account` are told by webhook only. */
export type ChangeObject =
  | 'message' | 'thread' | 'file' | 'folder' | 'label' | 'draft' | 'contact' | 'calendar' | 'event'
  | 'job_status' | 'account'; // prettier-ignore

/** One change a client can see. */
export interface ChangeRecord {
  applicationId: string;
  accountId: string;
  object: ChangeObject;
  objectId: string;
  event: 'create' | 'modify' | 'delete';
  at: Date;
  /** Tells subscribers of this trigger; absent: no webhook. */
  webhook?: {
    trigger: Trigger;
    /** Makes a second emission of the same happening impossible; unique over everything. */
    dedupe: string;
    /** `object_data.attributes` (api facts 10.4). */
    attributes?: Record<string, unknown> | null;
    /** `object_data.metadata`. */
    metadata?: Record<string, unknown> | null;
  };
}

const UNLOGGED: readonly ChangeObject[] = ['job_status', 'account'];

/** The exact bytes subscribers get (api facts 10.4). */
function webhookBody(change: ChangeRecord): Buffer {
  const delta = {
    date: toUnixSeconds(change.at),
    object: change.object,
    type: change.webhook?.trigger,
    object_data: {
      namespace_id: change.accountId,
      account_id: change.accountId,
      object: change.object,
      id: change.objectId,
      attributes: change.webhook?.attributes ?? null,
      metadata: change.webhook?.metadata ?? null,
    },
  };
  return Buffer.from(JSON.stringify({ deltas: [delta] }));
}

// The webhook is held until the commit: one that is removed at the same moment is left out instead of failing us.
const RECORD = `
  with logged as (
    insert into change (account_id, object, object_id, event)
    select * from unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[])),
  happened as (
    select * from unnest($5::uuid[], $6::uuid[], $7::text[], $8::bytea[], $9::text[]) h(id, application_id, type, body, dedupe)),
  told as (
    insert into webhook_event (id, application_id, type, body, dedupe)
    select h.id, h.application_id, h.type, h.body, h.dedupe from happened h
    where exists (select 1 from webhook w
                  where w.application_id = h.application_id and h.type = any(w.triggers) and w.state <> 'inactive')
    on conflict (dedupe) do nothing
    returning id, application_id, type)
  insert into hook_job (id, event_id, webhook_id, run_at, due_at, give_up_at)
  select gen_random_uuid(), t.id, w.id, now(), now(), now() + interval '76 hours'
  from told t join webhook w on w.application_id = t.application_id and t.type = any(w.triggers)
                            and w.state in ('active', 'failing')
  for key share of w
  returning 1`;

/**
 * Writes changes to the log and queues their webhook deliveries, in the caller's transaction and one round trip.
 * @returns whether deliveries were queued: then the caller wakes `hook` after its commit
 */
export async function recordChanges(sql: Sql, changes: readonly ChangeRecord[]): Promise<boolean> {
  if (changes.length === 0) return false;
  const logged = changes.filter(({ object }) => !UNLOGGED.includes(object));
  const told = changes.filter(({ webhook }) => webhook);
  const rows = await sql.query(RECORD, [
    logged.map(({ accountId }) => accountId),
    logged.map(({ object }) => object),
    logged.map(({ objectId }) => objectId),
    logged.map(({ event }) => event),
    told.map(() => newId()),
    told.map(({ applicationId }) => applicationId),
    told.map(({ webhook }) => webhook?.trigger),
    told.map(webhookBody),
    told.map(({ webhook }) => webhook?.dedupe),
  ]);
  return rows.length > 0;
}
