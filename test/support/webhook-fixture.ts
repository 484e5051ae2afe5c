import { EntityManager } from '@mikro-orm/postgresql';
import type { INestApplicationContext } from '@nestjs/common';
import { Application } from '../../src/accounts/applications/application.entity.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { type ChangeRecord, recordChanges } from '../../src/platform/changes/change-log.ts';
import { createDeliveryRateGate } from '../../src/platform/webhooks/delivery/delivery.repository.ts';
import { wants } from '../../src/platform/webhooks/events/matching.ts';
import { publishEvents } from '../../src/platform/webhooks/events/publish-events.ts';
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

/** Which events are recorded. */
export interface RecordedEvents {
  /** Default: `job.failed`. */
  trigger?: Trigger;
  /** Account of all events. Default: each has another one, and so a lane of its own. */
  accountId?: string;
}

/**
 * Records an event in the application, as every module does, and publishes it.
 * @returns whether a webhook wants it
 */
export async function recordEvent(
  app: INestApplicationContext,
  application: TestApplication,
  options: RecordedEvents = {},
): Promise<boolean> {
  return (await recordEvents(app, application, 1, options)) > 0;
}

/**
 * Records events in one transaction, and publishes them.
 * @returns number of deliveries that follow
 */
export async function recordEvents(
  app: INestApplicationContext,
  application: TestApplication,
  count: number,
  { trigger = 'job.failed', accountId }: RecordedEvents = {},
): Promise<number> {
  const ids = Array.from({ length: count }, newId);
  const changes = ids.map((id): ChangeRecord => ({
    applicationId: application.id,
    accountId: accountId ?? newId(),
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
  const database = app.get(Database);
  const wanted = await database.transaction(async (sql) => {
    await recordChanges(sql, changes);
    const deliveries = await sql.query(
      `select from webhook_event e join webhook w on w.state <> 'inactive' and ${wants('w', 'e')} where e.dedupe = any($1)`,
      [ids.map((id) => `test:${id}`)],
    );
    return deliveries.length;
  });
  await publishEvents(database);
  return wanted;
}
