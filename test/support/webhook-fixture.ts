import { EntityManager } from '@mikro-orm/postgresql';
import type { INestApplicationContext } from '@nestjs/common';
import { Application } from '../../src/accounts/applications/application.entity.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { type ChangeRecord, recordChanges } from '../../src/platform/changes/change-log.ts';
import { createDeliveryRateGate } from '../../src/platform/webhooks/delivery/delivery.repository.ts';
import { Webhook } from '../../src/platform/webhooks/webhook.entity.ts';
import type { Trigger } from '../../src/platform/webhooks/webhook-state.ts';
import type { TestApplication } from './factories.ts';

/** Stores a webhook as it is after a successful challenge, with the delivery rate it gets then. */
export async function createWebhook(
  app: INestApplicationContext,
  application: TestApplication,
  callbackUrl: string,
  overrides: Partial<
    Pick<Webhook, 'state' | 'triggers' | 'failingSince' | 'failures' | 'subscribedAt'>
  > = {},
): Promise<string> {
  const em = app.get(EntityManager).fork();
  const id = newId();
  // Earlier than anything the test does next, whatever the resolution of the clocks.
  const now = new Date(Date.now() - 1000);
  em.create(Webhook, {
    id,
    application: em.getReference(Application, application.id),
    callbackUrl,
    state: 'active',
    triggers: ['job.failed'],
    subscribedAt: now,
    createdAt: now,
    updatedAt: now,
    ...overrides,
  });
  await em.flush();
  await createDeliveryRateGate(app.get(Database), id);
  return id;
}

/**
 * Records an event in the application, as every module does.
 * @returns true if deliveries were queued
 */
export async function recordEvent(
  app: INestApplicationContext,
  application: TestApplication,
  trigger: Trigger = 'job.failed',
): Promise<boolean> {
  return (await recordEvents(app, application, 1, trigger)) > 0;
}

/**
 * Records events in one transaction.
 * @returns number of deliveries that were queued
 */
export async function recordEvents(
  app: INestApplicationContext,
  application: TestApplication,
  count: number,
  trigger: Trigger = 'job.failed',
): Promise<number> {
  const ids = Array.from({ length: count }, newId);
  const changes = ids.map((id): ChangeRecord => ({
    applicationId: application.id,
    accountId: newId(),
    object: 'job_status',
    objectId: id,
    event: 'modify',
    at: new Date(),
    webhook: {
      trigger,
      dedupe: `test:${id}`,
      attributes: { job_status_id: id, extras: { reason: 'ümlaut' } },
    },
  }));
  // Counted before a worker can have delivered them.
  return app.get(Database).transaction(async (sql) => {
    await recordChanges(sql, changes);
    const queued = await sql.query(
      `select from hook_job h cross join unnest(h.event_id || h.more_events) q(id)
       join webhook_event e on e.id = q.id where e.dedupe = any($1)`,
      [ids.map((id) => `test:${id}`)],
    );
    return queued.length;
  });
}
