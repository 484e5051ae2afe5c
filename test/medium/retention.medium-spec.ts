import { firstIdAt } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { pruneChanges } from '../../src/platform/changes/prune-changes.ts';
import { pruneFiles } from '../../src/mail/files/prune-files.ts';
import { pruneJobAttempts } from '../../src/job-statuses/job-attempts.ts';
import { pruneWebhookEvidence } from '../../src/platform/webhooks/events/prune-webhook-evidence.ts';
import { Maintenance } from '../../src/app/scheduler/maintenance.ts';
import type { Clock } from '../../src/platform/base/time/clock.ts';
import type { AppConfig } from '../../src/platform/config/app-config.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const DAY = 24 * 3_600_000;
const now = new Date('2026-11-20T10:00:00Z');
const ago = (days: number) => new Date(now.getTime() - days * DAY);

describe('retention', () => {
  let own: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    own = await createTestDatabase();
    database = new Database({
      url: own.url,
      max: 2,
      statementTimeoutMs: 5000,
      applicationName: 'test',
    });
  });
  afterAll(async () => {
    await database.close();
    await own.drop();
  });

  const ids = async (table: string) =>
    (await database.query<{ id: string }>(`select id from ${table} order by id`)).map(
      ({ id }) => id,
    );

  it('keeps webhook events for 7 days, and longer while a delivery waits for them', async () => {
    const [application, webhook] = [firstIdAt(ago(100)), firstIdAt(ago(99))];
    await database.query(
      `insert into application (id, client_id, name, secret_hash, secret_sealed, plan, features, region, redirect_uris, created_at, updated_at)
       values ($1, 'c', 'n', 'h', 's', 'standard', '{}', 'us', '{}', now(), now())`,
      [application],
    );
    await database.query(
      `insert into webhook (id, application_id, callback_url, state, triggers, subscribed_at, created_at, updated_at)
       values ($1, $2, 'https://a.test/', 'active', '{}', now(), now(), now())`,
      [webhook, application],
    );
    const [waiting, old, edge, young] = [ago(20), ago(8), ago(7), ago(6)].map(firstIdAt);
    for (const id of [waiting, old, edge, young]) {
      await database.query(
        `insert into webhook_event (id, application_id, type, body, dedupe) values ($1, $2, 'job.failed', '', $3)`,
        [id, application, id],
      );
    }
    await database.query(
      `insert into hook_job (id, event_id, webhook_id, run_at, due_at, give_up_at) values ($1, $1, $2, now(), now(), now())`,
      [waiting, webhook],
    );
    expect(await pruneWebhookEvidence(database, now)).toBe(1);
    expect(await ids('webhook_event')).toEqual([waiting, edge, young]);
    expect(await pruneWebhookEvidence(database, now)).toBe(0);
  });

  it('keeps webhook attempts for 30 days, and removes a bounded number at a time', async () => {
    await database.query(
      `insert into webhook_attempt (id, webhook_id, event_id, attempt, started_at, took_ms, outcome)
       select ($1 || lpad(to_hex(n), 12, '0'))::uuid, $2, $2, 1, now(), 0, 'delivered' from generate_series(1, 5001) n`,
      [firstIdAt(ago(31)).slice(0, 24), firstIdAt(now)],
    );
    const young = firstIdAt(ago(29));
    await database.query(
      `insert into webhook_attempt (id, webhook_id, event_id, attempt, started_at, took_ms, outcome)
       values ($1, $1, $1, 1, now(), 0, 'delivered')`,
      [young],
    );
    expect(await pruneWebhookEvidence(database, now)).toBe(5000);
    expect(await pruneWebhookEvidence(database, now)).toBe(1);
    expect(await pruneWebhookEvidence(database, now)).toBe(0);
    expect(await ids('webhook_attempt')).toEqual([young]);
  });

  it('keeps the timelines of jobs for 30 days, and the jobs longer', async () => {
    const [application, account, job] = [ago(200), ago(199), ago(40)].map(firstIdAt);
    await database.query(
      `insert into application (id, client_id, name, secret_hash, secret_sealed, plan, features, region, redirect_uris, created_at, updated_at)
       values ($1, 'd', 'n', 'i', 's', 'standard', '{}', 'us', '{}', now(), now())`,
      [application],
    );
    await database.query(
      `insert into "grant" (id, application_id, provider, email, name, status, sync_state, organization_unit,
         billing_state, metadata, settings_sealed, linked_at, created_at, updated_at)
       values ($1, $2, 'sandbox', 'a@sandbox.test', 'A', 'valid', 'running', 'folder', 'paid', '{}', '', now(), now(), now())`,
      [account, application],
    );
    await database.query(
      `insert into job_status (id, account_id, action, object, status) values ($1, $2, 'new_outbox', 'message', 'successful')`,
      [job, account],
    );
    const [old, young] = [ago(31), ago(29)].map(firstIdAt);
    for (const id of [old, young]) {
      await database.query(
        `insert into job_attempt (id, job_id, attempt, started_at, ended_at, outcome) values ($1, $2, 1, now(), now(), 'sent')`,
        [id, job],
      );
    }
    expect(await pruneJobAttempts(database, now)).toBe(1);
    expect(await pruneJobAttempts(database, now)).toBe(0);
    expect(await ids('job_attempt')).toEqual([young]);
    expect(await ids('job_status')).toEqual([job]);
  });

  it('keeps changes for 14 days', async () => {
    for (const days of [15, 13, 0]) {
      await database.query(
        `insert into change (account_id, object, object_id, event, at) values ($1, 'event', $1, 'create', $2)`,
        [firstIdAt(now), ago(days)],
      );
    }
    expect(await pruneChanges(database, now)).toBe(1);
    expect(await pruneChanges(database, now)).toBe(0);
    const left = await database.query<{ at: Date }>('select at from change order by at');
    expect(left.map(({ at }) => at)).toEqual([ago(13), ago(0)]);
  });

  it('keeps uploads for 7 days, longer while a draft or waiting message uses them, and bytes while a file refers to them', async () => {
    const [application, account, thread, draft] = [
      firstIdAt(ago(90)),
      firstIdAt(ago(89)),
      firstIdAt(ago(88)),
      firstIdAt(ago(87)),
    ];
    await database.query(
      `insert into application (id, client_id, name, secret_hash, secret_sealed, plan, features, region, redirect_uris, created_at, updated_at)
       values ($1, 'files', 'n', 'h2', 's', 'standard', '{}', 'us', '{}', now(), now())`,
      [application],
    );
    await database.query(
      `insert into "grant" (id, application_id, provider, email, name, status, sync_state, organization_unit, billing_state, metadata,
         settings_sealed, linked_at, created_at, updated_at)
       values ($1, $2, 'sandbox', 'a@sandbox.test', 'n', 'valid', 'running', 'folder', 'paid', '{}', 's', now(), now(), now())`,
      [account, application],
    );
    await database.query(
      `insert into thread (id, account_id, subject, first_message_at, last_message_at) values ($1, $2, '', now(), now())`,
      [thread, account],
    );
    await database.query(
      `insert into message (id, account_id, thread_id, subject, snippet, date, from_addresses, to_addresses, cc_addresses, bcc_addresses,
         reply_to_addresses, participants, unread, starred, has_attachments, draft, reference_ids, metadata)
       values ($1, $2, $3, '', '', now(), '[]', '[]', '[]', '[]', '[]', '{}', false, false, true, true, '{}', '{}')`,
      [draft, account, thread],
    );
    const [old, carried, waiting, young] = [ago(8), ago(7.5), ago(7.2), ago(6)].map(firstIdAt);
    const [orphan, arriving] = [firstIdAt(ago(1)), firstIdAt(now)];
    for (const id of [old, carried, waiting, young, orphan, arriving]) {
      await database.query('insert into file_data (id, account_id) values ($1, $2)', [id, account]);
      await database.query(`insert into file_chunk (data_id, no, bytes) values ($1, 0, 'x')`, [id]);
    }
    for (const id of [old, carried, waiting, young])
      await database.query(
        `insert into file (id, account_id, part, filename, content_type, content_disposition, size, data_id)
         values ($1, $2, 0, 'a', 'text/plain', 'attachment', 1, $1)`,
        [id, account],
      );
    await database.query(
      `insert into draft_file (message_id, position, file_id, filename, content_type, content_disposition, size, data_id)
       values ($1, 0, $2, 'a', 'text/plain', 'attachment', 1, $2)`,
      [draft, carried],
    );
    const job = firstIdAt(ago(2));
    await database.query(
      `insert into outbox_message (id, account_id, content, envelope, mime, message_id_header)
       values ($1, $2, $3, '{}', '', '<a@x.test>')`,
      [job, account, JSON.stringify({ file_ids: [waiting] })],
    );
    await database.query(
      `insert into send_job (id, account_id, run_at, due_at, retry_limit_at) values ($1, $2, $3, $3, $3)`,
      [job, account, now],
    );
    expect(await pruneFiles(database, now)).toBe(3);
    expect(await ids('file')).toEqual([carried, waiting, young]);
    expect(await ids('file_data')).toEqual([carried, waiting, young, arriving]);
    expect(
      await database.query('select object, event from change where object_id = $1', [old]),
    ).toEqual([{ object: 'file', event: 'delete' }]);
    expect(await pruneFiles(database, now)).toBe(0);
    await database.query('delete from send_job where id = $1', [job]);
    expect(await pruneFiles(database, now)).toBe(2);
    expect(await ids('file')).toEqual([carried, young]);
    await database.query('delete from message where id = $1', [draft]);
    expect(await pruneFiles(database, now)).toBe(2);
    expect(await database.query('select 1 from file_chunk')).toHaveLength(2);
  });

  it('deletes everything that has expired in one maintenance, even if a task fails', async () => {
    await database.query(
      `insert into table_sample (day, table_name, taken_at, bytes, estimated_rows)
       values ('2026-01-01', 'message', now(), 1, 1)`,
    );
    await database.query(
      `insert into webhook_attempt (id, webhook_id, event_id, attempt, started_at, took_ms, outcome)
       select ($1 || lpad(to_hex(n), 12, '0'))::uuid, $2, $2, 1, now(), 0, 'delivered' from generate_series(1, 5001) n`,
      [firstIdAt(ago(40)).slice(0, 24), firstIdAt(now)],
    );
    await database.query('alter table job_attempt rename to job_attempt_away');
    const config = { auditLogDays: 400 } as AppConfig;
    const maintenance = new Maintenance(database, { now: () => now } as Clock, config);
    try {
      await maintenance.runAll(new AbortController().signal);
    } finally {
      await database.query('alter table job_attempt_away rename to job_attempt');
    }
    expect(await database.query('select 1 from table_sample')).toEqual([]);
    const attempts = await database.query('select 1 from webhook_attempt where id < $1', [
      firstIdAt(ago(30)),
    ]);
    expect(attempts).toEqual([]);
  });
});
