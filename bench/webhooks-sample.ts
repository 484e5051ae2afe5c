import type pg from 'pg';
import { newId } from '../src/platform/base/ids/ids.ts';
import {
  storeEvents,
  type WebhookEventRecord,
  withEvents,
} from '../src/platform/webhooks/events/store-events.ts';
import type { BenchAccount } from './seed.ts';

/** One of the triggers of `seedWebhook`. */
const TRIGGER = 'job.successful';

/** Exact bytes of an event as the product writes them, about 500 bytes. */
export function sampleEvent(accountId: string, jobId: string): Buffer {
  const attributes = {
    action: 'new_outbox',
    job_status_id: jobId,
    message_id: jobId,
    thread_id: jobId,
  };
  const object = { namespace_id: accountId, account_id: accountId, object: 'job_status' };
  const delta = {
    date: 1_795_255_200,
    object: 'job_status',
    type: TRIGGER,
    object_data: { ...object, id: jobId, attributes, metadata: null },
  };
  return Buffer.from(JSON.stringify({ deltas: [delta] }));
}

/**
 * Stores events and queues their deliveries with the program's own statement, in one transaction,
 * and wakes the workers as the product does.
 */
export async function queueEvents(
  sql: pg.Client,
  accounts: readonly BenchAccount[],
  count: number,
): Promise<void> {
  const events = Array.from({ length: count }, (_, index): WebhookEventRecord => {
    const { id: accountId = '', applicationId = '' } = accounts[index % accounts.length] ?? {};
    const id = newId();
    const ids = { id, applicationId, accountId, trigger: TRIGGER, dedupe: `bench:${id}` } as const;
    return {
      ...ids,
      body: sampleEvent(accountId, id),
      scopes: null,
      folders: [],
      fromDomains: [],
      traceparent: null,
    };
  });
  await sql.query('begin');
  await storeEvents(
    { query: async (text, values = []) => (await sql.query(text, [...values])).rows },
    withEvents('nothing as (select 1)'),
    events,
    [],
  );
  await sql.query(`select pg_notify('carillon_due', 'hook')`);
  await sql.query('commit');
}
