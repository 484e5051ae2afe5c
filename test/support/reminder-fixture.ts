import { randomBytes } from 'node:crypto';
import { SecretBox } from '../../src/platform/base/crypto/secret-box.ts';
import { hashToken } from '../../src/platform/base/crypto/token-hash.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { type AppConfig, loadConfig } from '../../src/platform/config/app-config.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { sealGrantSettings } from '../../src/accounts/grants/credentials/grant-secrets.ts';
import type { ReminderEvent } from '../../src/calendar/events/ports/event-reminders.ts';
import type { StoredNotification } from '../../src/calendar/events/event-values.ts';
import { createTestDatabase } from './test-database.ts';

/** The columns of `reminder` that tests compare. */
export interface ReminderRow {
  id: string;
  notification_id: string;
  participant: string;
  type: string;
  recipient: string;
  name: string;
  content: Record<string, string>;
  due_at: Date;
  expires_at: Date;
  status: string;
  reason: string | null;
  attempts: number;
  message_id_header: string | null;
  sent_at: Date | null;
  /** Due time of the queue row, or `null` if there is no queue row. */
  run_at: Date | null;
}

/** A database with one application and one account, without the rest of the program. */
export interface ReminderFixture {
  config: AppConfig;
  database: Database;
  secretBox: SecretBox;
  applicationId: string;
  clientSecret: string;
  accountId: string;
  accountEmail: string;
  /** Reminders of an event with their queue rows, ordered by due time, participant and age. */
  reminders(eventId: string): Promise<ReminderRow[]>;
  close(): Promise<void>;
}

/** @param features features of the application */
export async function startReminderFixture(features: string[] = ['sms']): Promise<ReminderFixture> {
  const testDatabase = await createTestDatabase();
  const config = loadConfig({
    NODE_ENV: 'test',
    DATABASE_URL: testDatabase.url,
    ENCRYPTION_KEYS: `test:${randomBytes(32).toString('base64')}`,
    EGRESS_ALLOW: '127.0.0.0/8,::1',
    SMS_GATEWAY: 'recording',
  });
  const database = new Database({
    url: testDatabase.url,
    max: 6,
    statementTimeoutMs: 15_000,
    applicationName: 'test',
  });
  const secretBox = new SecretBox(config.encryptionKeys);
  const [applicationId, accountId, clientSecret] = [newId(), newId(), 'secret-of-the-application'];
  const accountEmail = 'owner@sandbox.test';
  await database.query(
    `insert into application (id, client_id, name, secret_hash, secret_sealed, plan, features, region, redirect_uris,
       created_at, updated_at)
     values ($1, $2, 'Test', $3, $4, 'standard', $5, 'us', '{}', now(), now())`,
    [
      applicationId,
      `client-${applicationId}`,
      hashToken(clientSecret),
      secretBox.seal(clientSecret, `application.secret:${applicationId}`),
      features,
    ],
  );
  await database.query(
    `insert into "grant" (id, application_id, provider, email, name, status, sync_state, organization_unit,
       billing_state, metadata, settings_sealed, linked_at, created_at, updated_at)
     values ($1, $2, 'sandbox', $3, 'Olga Owner', 'valid', 'running', 'folder', 'paid', '{}', $4, now(), now(), now())`,
    [accountId, applicationId, accountEmail, sealGrantSettings(secretBox, accountId, {})],
  );
  return {
    config,
    database,
    secretBox,
    applicationId,
    clientSecret,
    accountId,
    accountEmail,
    reminders: (eventId) =>
      database.query<ReminderRow>(
        `select r.*, c.content, j.run_at from reminder r
         join reminder_content c using (event_id, notification_id)
         left join reminder_job j on j.id = r.id
         where r.event_id = $1 order by r.due_at, r.type, r.participant, r.id`,
        [eventId],
      ),
    async close() {
      await database.close();
      await testDatabase.drop();
    },
  };
}

/** For each type, makes a notification with a new id. */
export const notificationOf = {
  email: (minutes = 30): StoredNotification => ({
    id: newId(),
    type: 'email',
    minutes_before_event: minutes,
    subject: 'Soon',
    body: '<b>Soon</b>',
  }),
  sms: (minutes = 30): StoredNotification => ({
    id: newId(),
    type: 'sms',
    minutes_before_event: minutes,
    message: 'Soon!',
  }),
  webhook: (minutes = 30, url = 'https://hooks.example.test/r'): StoredNotification => ({
    id: newId(),
    type: 'webhook',
    minutes_before_event: minutes,
    url,
    payload: '{"soon":true}',
  }),
};

/**
 * An event of the fixture's account. By default it starts an hour after `now` and has two
 * participants.
 */
export function reminderEvent(
  fixture: ReminderFixture,
  now: Date,
  overrides: Partial<ReminderEvent> = {},
): ReminderEvent {
  return {
    accountId: fixture.accountId,
    eventId: newId(),
    title: 'Review',
    startsAt: new Date(now.getTime() + 60 * 60_000),
    notifications: [],
    participants: [
      { email: 'bo@example.test', name: 'Bo', phone_number: '+15550100', status: 'yes' },
      { email: 'cy@example.test', name: 'Cy', phone_number: '+15550101', status: 'noreply' },
    ],
    cancelled: false,
    ...overrides,
  };
}
