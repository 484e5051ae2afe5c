import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { GrantsService } from '../../src/accounts/grants/grants.service.ts';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector, MailPort } from '../../src/providers/port/connector.ts';
import { ImapAudit } from '../../src/providers/imap/changes/imap-audit.ts';
import type { CompletenessView } from '../../src/sync/completeness/completeness.schema.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { type Correspondent, ImapFixture } from '../support/imap-fixture.ts';
import { truthOf } from '../support/imap-replica.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { mimeOf } from '../support/mail-servers/mail-servers.ts';
import { agreeable, Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const PATIENCE_MS = 60_000;
const DAY_MS = 86_400_000;

interface Delta {
  type: string;
  object_data: { id: string };
}

/** Damages what is stored by hand. The server is real, and the proof must name what is wrong. */
describeWith(['dovecot', 'exim4'], 'the completeness of an account on a real server', () => {
  jest.setTimeout(2 * PATIENCE_MS);
  let fixture: ImapFixture;
  let server: TestApp;
  let database: Database;
  let application: TestApplication;
  let receiver: Receiver;
  let webhook: string;
  let one: Correspondent;
  let account: TestAccount;

  beforeAll(async () => {
    fixture = await ImapFixture.start();
    server = await startTestApp();
    database = server.app.get(Database);
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    receiver = await Receiver.start();
    webhook = await createWebhook(server.app, application, `${receiver.origin}/hook`, {
      triggers: ['message.created', 'message.deleted', 'contact.created'],
    });
    one = await fixture.correspondent();
    // Before the account is connected: history, which causes no event.
    await append(3, -2 * DAY_MS);
    account = await connect();
  });
  afterEach(async () => {
    await server.app.get(GrantsService, { strict: false }).remove(application.id, account.id);
    await fixture.closeAll();
    await receiver.stop();
  });
  afterAll(async () => {
    await server.close();
    await fixture.stop();
  });

  const rows = <T extends object>(text: string, ...values: unknown[]) =>
    database.query<T>(text, [account.id, ...values]);
  const append = (count: number, afterMs = 0) =>
    Promise.all(
      Array.from({ length: count }, (_, n) =>
        one.other.append(
          'INBOX',
          mimeOf({ Subject: `message ${n}` }),
          [],
          new Date(Date.now() + afterMs),
        ),
      ),
    );

  async function connect(): Promise<TestAccount> {
    const { changes } = one;
    const audit = new ImapAudit(one.sessions);
    const mail: Partial<MailPort> = {
      listChanges: (...asked) => changes.listChanges(...asked),
      fetchRaw: (...asked) => changes.fetchRaw(...asked),
      listFolders: (...asked) => audit.listFolders(...asked),
      listIds: (...asked) => audit.listIds(...asked),
      countMessages: (...asked) => audit.countMessages(...asked),
      readMessages: (...asked) => audit.readMessages(...asked),
    };
    server.app.get(ConnectorRegistry).replace({ name: 'imap', mail } as unknown as Connector);
    const { email, settings } = one.account;
    account = await createAccount(server.app, application, {
      provider: 'imap',
      email,
      settings: { ...settings },
    });
    await scheduleSync(database, account.id);
    server.app.get(Signals).wake('sync');
    await audited();
    return account;
  }
  const audited = () =>
    until(
      'the audit',
      async () => {
        const done = await rows(
          `select 1 from mirror_audit
           where account_id = $1 and round is null and full_at > now() and recent_at > now() and checked_at is not null`,
        );
        return done.length > 0;
      },
      PATIENCE_MS,
    );
  /** Runs a sync pass and an audit: `full_at` of the whole mailbox, `recent_at` of recent days. */
  async function audit(column: 'full_at' | 'recent_at'): Promise<void> {
    await rows(
      `update mirror_audit set ${column} = now(), not_before = null where account_id = $1`,
    );
    await rows(`update sync_job set run_at = now(), again = true where account_id = $1`);
    server.app.get(Signals).wake('sync');
    await audited();
  }
  async function proof(): Promise<CompletenessView> {
    const { status, body } = await request(server.url)
      .get(`/a/${application.clientId}/accounts/${account.id}/completeness`)
      .set(application.secretBasic);
    expect([status, (body as { message?: string }).message]).toEqual([200, undefined]);
    return body as CompletenessView;
  }
  type Messages = CompletenessView['days'][number]['messages'];
  /** A number of all days: the test may run at midnight. */
  const sum = ({ days }: CompletenessView, name: keyof Messages) =>
    days.reduce((total, { messages }) => total + Number(messages[name] ?? 0), 0);
  const deliveries = ({ days }: CompletenessView, object: string) => {
    const all = days.flatMap((day) => day.deliveries).filter((one) => one.object === object);
    const total = (name: 'expected' | 'handed_over' | 'waiting' | 'dropped' | 'unaccounted') =>
      all.reduce((sum, one) => sum + one[name], 0);
    return {
      expected: total('expected'),
      handed_over: total('handed_over'),
      waiting: total('waiting'),
      dropped: total('dropped'),
      unaccounted: total('unaccounted'),
    };
  };
  const handedOver = (count: number) =>
    until('the deliveries', async () => {
      const found = deliveries(await proof(), 'message');
      return found.handed_over === count && found;
    });
  /** Ids of the objects in the deliveries of a trigger. */
  const reportedAs = (trigger: string) =>
    receiver.posted
      .flatMap(({ body }) => (JSON.parse(body.toString()) as { deltas: Delta[] }).deltas)
      .filter(({ type }) => type === trigger)
      .map(({ object_data: { id } }) => id);
  const newest = async () => {
    const [row] = await rows<{ id: string }>(
      'select id from message where account_id = $1 order by date desc, id desc limit 1',
    );
    return row?.id ?? '';
  };

  it('is proven when provider, mirror, events and deliveries agree', async () => {
    await append(4);
    await audit('recent_at');
    await handedOver(4);
    const found = await proof();
    expect(found).toMatchObject({ account_id: account.id, complete: true, reasons: [] });
    expect(found.days).toHaveLength(7);
    expect(found.days.every(({ complete }) => complete)).toBe(true);
    expect(sum(found, 'provider')).toBe((await truthOf(one.other)).size);
    expect(sum(found, 'mirror')).toBe(7);
    expect(sum(found, 'expected_events')).toBe(4);
    expect(deliveries(found, 'message')).toEqual({
      expected: 4,
      handed_over: 4,
      waiting: 0,
      dropped: 0,
      unaccounted: 0,
    });
    const contacts = deliveries(found, 'contact');
    expect(contacts.expected).toBe(contacts.handed_over);
    expect(found.audit).toMatchObject({ unrepaired: 0, folders_skipped: 0 });
  });

  it('names messages that are lost in the mirror, until an audit has repaired it', async () => {
    await append(4);
    await audit('recent_at');
    await handedOver(4);
    const old = await rows<{ id: string }>(
      'select id from message where account_id = $1 order by date, id limit 1',
    );
    const lost = [old[0]?.id ?? '', await newest()];
    await rows('delete from message where account_id = $1 and id = any($2)', lost);
    const found = await proof();
    expect(found).toMatchObject({ complete: false, reasons: ['missing'] });
    expect(found.days.flatMap(({ messages }) => messages.missing_ids)).toEqual(lost);
    expect(sum(found, 'missing')).toBe(2);
    expect(sum(found, 'provider')).toBe(7);
    expect(sum(found, 'mirror')).toBe(5);
    const { body: latest } = await request(server.url)
      .post('/delta/latest_cursor')
      .set(account.bearer);
    await audit('full_at');
    // The message of today is found again under another id, and its event is new. Both old ids are
    // gone.
    await handedOver(7);
    const { body } = await request(server.url)
      .get('/delta')
      .query({ cursor: (latest as { cursor: string }).cursor, include_types: 'message' })
      .set(account.bearer);
    const { deltas } = body as { deltas: { event: string; id: string }[] };
    const gone = deltas.filter(({ event }) => event === 'delete').map(({ id }) => id);
    expect(gone.toSorted()).toEqual(lost.toSorted());
    expect(reportedAs('message.deleted').toSorted()).toEqual(lost.toSorted());
    const repaired = await proof();
    expect([sum(repaired, 'provider'), sum(repaired, 'mirror')]).toEqual([7, 7]);
    expect(repaired).toMatchObject({ complete: true, reasons: [] });
  });

  it('names a message that came after the last audit and is lost since', async () => {
    await append(1);
    await rows(`update sync_job set run_at = now(), again = true where account_id = $1`);
    server.app.get(Signals).wake('sync');
    await handedOver(1);
    const id = await newest();
    await rows('delete from message where account_id = $1 and id = $2', id);
    const found = await proof();
    expect(found).toMatchObject({ complete: false, reasons: ['missing'] });
    const changes = found.days.flatMap((day) => day.changes);
    expect(
      changes.flatMap(({ object, missing_ids: lost }) => lost.map((one) => [object, one])),
    ).toEqual([['message', id]]);
  });

  it('names messages whose event is not stored any more', async () => {
    await append(2);
    await audit('recent_at');
    await handedOver(2);
    const id = await newest();
    await database.query('delete from webhook_event where dedupe = $1', [`message:${id}:created`]);
    const found = await proof();
    expect(found).toMatchObject({ complete: false, reasons: ['without_event'] });
    expect(found.days.flatMap(({ messages }) => messages.without_event_ids)).toEqual([id]);
  });

  it('counts what waits for a receiver that fails, and what is not accounted for', async () => {
    receiver.behave = (response) => response.writeHead(500).end();
    await append(3);
    await audit('recent_at');
    await until('failed deliveries', async () => receiver.posted.length >= 3);
    const waiting = await proof();
    expect(waiting).toMatchObject({ complete: false, reasons: ['waiting'] });
    expect(deliveries(waiting, 'message')).toMatchObject({
      expected: 3,
      handed_over: 0,
      waiting: 3,
    });
    receiver.behave = agreeable;
    // A trigger replaces a lane that is deleted in this way by a row for each event.
    for (const _rowsOf of ['lane', 'events'])
      await rows('delete from hook_job where webhook_id = $2 and $1::uuid is not null', webhook);
    const lost = await proof();
    expect(lost).toMatchObject({ complete: false, reasons: ['unaccounted'] });
    expect(deliveries(lost, 'message')).toMatchObject({ expected: 3, waiting: 0, unaccounted: 3 });
    expect(
      lost.days.flatMap((day) => day.deliveries.flatMap((d) => d.missing_event_ids)),
    ).toHaveLength(3);
  });

  it('does not take messages that were deleted, or that came after the audit, for differences', async () => {
    await append(3);
    await audit('recent_at');
    await handedOver(3);
    await one.other.mailboxOpen('INBOX');
    await one.other.messageDelete('1');
    await one.other.mailboxClose();
    await append(1);
    await rows(`update sync_job set run_at = now(), again = true where account_id = $1`);
    server.app.get(Signals).wake('sync');
    const found = await until('the changes', async () => {
      const now = await proof();
      return sum(now, 'since_audit') === 1 && sum(now, 'mirror') === 6 && now;
    });
    expect([sum(found, 'missing'), sum(found, 'surplus')]).toEqual([0, 0]);
  });
});
