import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import type { CompletenessView } from '../../src/sync/completeness/completeness.schema.ts';
import { deliver } from '../support/deliver.ts';
import { eventsAt } from '../support/delivered-events.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { agreeable, Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;
const MAIL = ['message.created', 'message.updated', 'message.deleted'];
const EVERYTHING = ['message', 'thread', 'folder', 'draft', 'calendar', 'event', 'contact'].flatMap(
  (object) => ['created', 'updated', 'deleted'].map((verb) => `${object}.${verb}`),
);
/** Webhooks of the test, by the path of their address. */
const PATHS = ['/all', '/folder', '/domain', '/account', '/late', '/paused'] as const;
type Path = (typeof PATHS)[number];
type Delivery = CompletenessView['days'][number]['deliveries'][number];

/**
 * One day in the life of two sandbox mailboxes. What completeness says must be exactly what the
 * receivers have got, and it must name each thing that is broken by hand.
 */
describe('the completeness of a day of changes', () => {
  const clock = new PassingClock();
  let server: TestApp;
  let database: Database;
  let receiver: Receiver;
  let application: TestApplication;
  let ada: TestAccount;
  let bo: TestAccount;
  let folder: string;
  const ids = new Map<string, string>();
  let failing: string | null = null;

  beforeAll(async () => {
    server = await startTestApp({}, { clock });
    database = server.app.get(Database);
    receiver = await Receiver.start();
    receiver.behave = (response, got, socket) =>
      got.url === failing ? response.writeHead(500).end() : agreeable(response, got, socket);
    application = await createApplication(server.app);
    [ada, bo] = [await connected(), await connected()];
    ({ id: folder } = await ok('post', '/folders', { display_name: 'Invoices' }));
    await subscribe('/all', { triggers: EVERYTHING });
    await subscribe('/folder', { triggers: MAIL, filters: { folders: [folder] } });
    await subscribe('/domain', { triggers: MAIL, filters: { from_domains: ['shop.test'] } });
    await subscribe('/account', { triggers: EVERYTHING, filters: { accounts: [bo.id] } });
    await subscribe('/paused', { triggers: EVERYTHING });
    await subscribe('pull', { delivery: 'pull', triggers: EVERYTHING });
  });
  afterAll(async () => {
    await server.close();
    await receiver.stop();
  });

  async function connected(): Promise<TestAccount> {
    const account = await createAccount(server.app, application, { mirrored: true });
    await until(
      'the folders',
      async () => ((await ok('get', '/folders', undefined, account)) as unknown[]).length > 0,
    );
    return account;
  }
  const webhooks = (method: 'post' | 'put' | 'get', suffix = '') =>
    request(server.url)
      [method](`/a/${application.clientId}/${suffix}`)
      .set(application.secretBasic);
  async function subscribe(path: string, fields: object): Promise<void> {
    const address = path === 'pull' ? {} : { callback_url: `${receiver.origin}${path}` };
    const { status, body } = await webhooks('post', 'webhooks').send({ ...address, ...fields });
    expect([status, body.message]).toEqual([200, undefined]);
    ids.set(path, body.id);
  }
  const setState = async (path: Path, state: string) => {
    const { status } = await webhooks('put', `webhooks/${ids.get(path)}`).send({ state });
    expect(status).toBe(200);
  };
  async function ok(
    method: 'get' | 'post' | 'put' | 'delete',
    path: string,
    body?: object,
    by = ada,
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as supertest types bodies
  ): Promise<any> {
    const response = await request(server.url)[method](path).set(by.bearer).send(body);
    expect([path, response.status < 300, response.body.message]).toEqual([path, true, undefined]);
    return response.body;
  }
  async function arrived(subject: string, email: string, account = ada) {
    await deliver(server, account, [`Subject: ${subject}`, '', 'Soup.'], email);
    return until(
      subject,
      async () => (await ok('get', `/messages?subject=${subject}`, undefined, account))[0],
    );
  }
  /** Waits until all changes of the API have reached the provider. */
  const written = () =>
    until('the provider writes', async () => {
      const open = await database.query('select 1 from provider_job limit 1');
      return open.length === 0;
    });
  async function proof(account = ada): Promise<CompletenessView> {
    const { status, body } = await webhooks('get', `accounts/${account.id}/completeness`);
    expect([status, body.message]).toEqual([200, undefined]);
    return body as CompletenessView;
  }
  const deliveriesTo = ({ days }: CompletenessView, path: string): Delivery[] =>
    days.flatMap(({ deliveries }) => deliveries).filter((one) => one.webhook_id === ids.get(path));
  const counted = (deliveries: Delivery[], name: 'expected' | 'handed_over') => {
    const counts: Record<string, number> = {};
    for (const one of deliveries) counts[one.object] = (counts[one.object] ?? 0) + one[name];
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  };
  /** What a receiver has got of an account, each event once. */
  const got = (path: string, account = ada) => {
    const events = new Map(
      eventsAt(receiver, path)
        .filter(({ object_data: { account_id: id } }) => id === account.id)
        .map((event) => [(event as unknown as { event_id: string }).event_id, event.object]),
    );
    const counts: Record<string, number> = {};
    for (const object of events.values()) counts[object] = (counts[object] ?? 0) + 1;
    return counts;
  };
  /** Waits until nothing waits for a receiver. */
  const delivered = (account = ada) =>
    until('the deliveries', async () => {
      const found = await proof(account);
      const waits = PATHS.some((path) =>
        deliveriesTo(found, path).some(({ waiting }) => waiting > 0),
      );
      return !waits && found;
    });
  async function audited(account = ada): Promise<void> {
    await database.query(
      `update mirror_audit set full_at = now(), recent_at = now(), not_before = null,
         collections_at = least(collections_at, case when collections is null then now() else collections_at end)
       where account_id = $1`,
      [account.id],
    );
    await database.query('update sync_job set run_at = now(), again = true where account_id = $1', [
      account.id,
    ]);
    server.app.get(Signals).wake('sync');
    await until('the audit', async () => {
      const [row] = await database.query(
        `select 1 from mirror_audit where account_id = $1 and checked_at is not null and collections_at > now()
           and (round is null and full_at > now() or not_before > now())`,
        [account.id],
      );
      return row;
    });
  }

  it('is exactly what each webhook has got, whatever its filters and however it came and went', async () => {
    const shop = await arrived('Bill', 'bills@shop.test');
    await arrived('Hello', 'ada@else.test');
    await arrived('Offer', 'bills@shop.test', bo);
    await ok('put', `/messages/${shop.id}`, { unread: false });
    await ok('put', `/messages/${shop.id}`, { folder_id: folder });
    await ok('put', `/messages/${shop.id}`, { starred: true });
    const draft = await ok('post', '/drafts', { subject: 'Perhaps' });
    await ok('delete', `/drafts/${draft.id}`, { version: draft.version });
    await written();
    await delivered();
    await setState('/paused', 'inactive');
    const { id: calendar } = await ok('post', '/calendars', { name: 'Work' });
    const when = { start_time: 1_900_000_000, end_time: 1_900_003_600 };
    const event = { calendar_id: calendar, title: 'Lunch', when };
    const lunch = await ok('post', '/events', event);
    await ok('post', '/events', { ...event, title: 'Dinner' });
    await ok('put', `/events/${lunch.id}`, { title: 'Brunch' });
    await written();
    await setState('/paused', 'active');
    await subscribe('/late', { triggers: EVERYTHING });
    await ok('delete', `/events/${lunch.id}`);
    const { id: mia } = await ok('post', '/contacts', { given_name: 'Mia' });
    await ok('post', '/contacts', { given_name: 'Max' });
    await ok('put', `/contacts/${mia}`, { given_name: 'Mio' });
    await written();
    await ok('delete', `/contacts/${mia}`);
    await written();
    // The provider forgets a message, and the next pass reports it.
    await database.query(
      `with counter as (
         update sandbox_mailbox set modseq = modseq + 1 where address = $1 returning modseq)
       update sandbox_message m set deleted = true, modseq = counter.modseq from counter
       where address = $1 and id::text = (select provider_id from message where id = $2)`,
      [ada.email, shop.id],
    );
    await arrived('Last', 'ada@else.test');
    await until(
      'the deletion',
      async () =>
        (await request(server.url).get(`/messages/${shop.id}`).set(ada.bearer)).status === 404,
    );
    await audited();
    await audited(bo);
    for (const account of [ada, bo]) {
      const found = await delivered(account);
      for (const path of PATHS) {
        const deliveries = deliveriesTo(found, path);
        expect([path, counted(deliveries, 'expected')]).toEqual([path, got(path, account)]);
        expect([path, counted(deliveries, 'handed_over')]).toEqual([path, got(path, account)]);
        expect(deliveries.map(({ missing }) => missing)).toEqual(deliveries.map(() => 0));
      }
    }
    expect(got('/folder')).toEqual({ message: 3 });
    expect(got('/domain')).toEqual({ message: 5 });
    expect(got('/account')).toEqual({});
    expect(got('/account', bo)).toMatchObject({ message: 1 });
    expect(got('/late')).toMatchObject({ message: 2, event: 1, contact: 4 });
    expect(got('/paused')).not.toHaveProperty('calendar');
  });

  it('waits for the owner of a pull webhook to acknowledge what it has read', async () => {
    const page = await webhooks('get', `events?webhook_id=${ids.get('pull')}&limit=1000`);
    const { deltas, cursor_end: cursor } = page.body as {
      deltas: { object_data: { account_id: string } }[];
      cursor_end: string;
    };
    const read = deltas.filter(({ object_data: { account_id: id } }) => id === ada.id).length;
    const sum = (found: CompletenessView, name: 'expected' | 'waiting' | 'handed_over') =>
      deliveriesTo(found, 'pull').reduce((total, one) => total + one[name], 0);
    const before = await proof();
    expect([sum(before, 'expected'), sum(before, 'waiting')]).toEqual([read, read]);
    expect(before).toMatchObject({ complete: false, reasons: ['waiting'] });
    await webhooks('post', 'events/ack').send({ webhook_id: ids.get('pull'), cursor });
    const after = await proof();
    expect([sum(after, 'handed_over'), sum(after, 'waiting')]).toEqual([read, 0]);
    expect([after.complete, after.reasons]).toEqual([true, []]);
  });

  it('counts what changed, and what the provider has of calendars and contacts', async () => {
    const found = await proof();
    const sums = new Map<string, number[]>();
    for (const { object, created, updated, deleted } of found.days.flatMap((day) => day.changes))
      sums.set(
        object,
        [created, updated, deleted].map((count, at) => count + (sums.get(object)?.[at] ?? 0)),
      );
    // Changes at the provider are reported, too, such as the id that it has given.
    expect(sums.get('event')).toEqual([2, expect.any(Number), 1]);
    expect(sums.get('message')).toEqual([3, 3, 1]);
    // Calendars of the sandbox cannot be listed, so nothing is compared with them.
    expect(found.collections).toMatchObject([
      { object: 'contact', complete: true, calendar_id: null, missing: 0, surplus: 0 },
    ]);
    expect(found.collections[0]?.provider).toBe(found.collections[0]?.mirror);
  });

  it('names messages, events and contacts that were lost in the mirror', async () => {
    await arrived('Newest', 'ada@else.test');
    const [{ id: calendar }] = await ok('get', '/calendars?limit=1');
    const when = { start_time: 1_900_000_000, end_time: 1_900_003_600 };
    await ok('post', '/events', { calendar_id: calendar, title: 'Supper', when });
    await ok('post', '/contacts', { given_name: 'Mo' });
    await written();
    await delivered();
    const lose = async (table: string, column: string, ...values: string[]) => {
      const rows = await database.query<{ id: string }>(
        `delete from ${table} where account_id = $1 and ${column} = any($2) returning id, ${column} as name`,
        [ada.id, values],
      );
      expect(rows).toHaveLength(2);
      return new Map(rows.map((row) => [(row as unknown as { name: string }).name, row.id]));
    };
    const messages = await lose('message', 'subject', 'Last', 'Newest');
    const events = await lose('event', 'title', 'Dinner', 'Supper');
    const contacts = await lose('contact', `content ->> 'given_name'`, 'Max', 'Mo');
    const found = await proof();
    expect(found).toMatchObject({ complete: false, reasons: ['missing', 'waiting'] });
    // What the last audit has not seen is known from the change log.
    const lostIn = ({ days }: CompletenessView) =>
      days.flatMap(({ changes }) =>
        changes.flatMap(({ object, missing_ids: missing }) =>
          missing.map((id) => `${object} ${id}`),
        ),
      );
    const lostEvents = [...events.values()].map((id) => `event ${id}`);
    expect(lostIn(found).toSorted()).toEqual(
      [
        `contact ${contacts.get('Mo')}`,
        ...lostEvents,
        `message ${messages.get('Newest')}`,
      ].toSorted(),
    );
    expect(found.days.flatMap((day) => day.messages.missing_ids)).toEqual([messages.get('Last')]);
    expect(found.collections.flatMap(({ missing_ids: missing }) => missing)).toEqual([
      contacts.get('Max'),
    ]);
    await audited();
    const repaired = await delivered();
    // Events of the sandbox are not audited, so they are not repaired.
    expect(lostIn(repaired).toSorted()).toEqual(lostEvents.toSorted());
    expect(repaired.days.flatMap((day) => day.messages.missing_ids)).toEqual([]);
    expect(repaired.collections.flatMap(({ reasons }) => reasons)).toEqual([]);
  });

  it('names events that are not stored any more, also to webhooks that filter', async () => {
    const bill = await arrived('Reminder', 'bills@shop.test');
    await delivered();
    const [event] = await database.query<{ id: string }>(
      'delete from webhook_event where dedupe = $1 returning id',
      [`message:${bill.id}:created`],
    );
    await database.query('delete from webhook_attempt where event_id = $1', [event?.id]);
    const found = await proof();
    expect(found.reasons).toContain('without_event');
    const losers = [...ids].filter(([path]) =>
      deliveriesTo(found, path).some(
        ({ without_event: count, missing_event_ids: lost }) =>
          count === 1 && lost.includes(event?.id ?? ''),
      ),
    );
    expect(losers.map(([path]) => path).toSorted()).toEqual(
      ['/all', '/domain', '/late', '/paused', 'pull'].toSorted(),
    );
  });

  it('names deliveries whose queue row was lost, of the one webhook that missed them', async () => {
    const bill = await arrived('Warning', 'bills@shop.test');
    await delivered();
    failing = '/folder';
    await ok('put', `/messages/${bill.id}`, { folder_id: folder });
    await until('a failed delivery', () =>
      Promise.resolve(receiver.posted.at(-1)?.url === '/folder'),
    );
    expect(deliveriesTo(await proof(), '/folder').some(({ waiting }) => waiting > 0)).toBe(true);
    // A trigger replaces a lane that is deleted in this way by a row for each event.
    for (const _rowsOf of ['lane', 'events'])
      await database.query('delete from hook_job where webhook_id = $1', [ids.get('/folder')]);
    failing = null;
    const found = await proof();
    const unaccounted = (path: string) =>
      deliveriesTo(found, path).reduce((sum, one) => sum + one.unaccounted, 0);
    expect(unaccounted('/folder')).toBe(1);
    for (const path of ['/all', '/domain', '/account', '/late', '/paused'])
      expect([path, unaccounted(path)]).toEqual([path, 0]);
  });

  it('names a message that the provider has deleted without telling, until it is removed', async () => {
    const [row] = await database.query<{ id: string }>(
      `select id from message where account_id = $1 and subject = 'Hello'`,
      [ada.id],
    );
    await database.query(
      `update sandbox_message set deleted = true
       where address = $1 and id::text = (select provider_id from message where id = $2)`,
      [ada.email, row?.id],
    );
    await audited();
    const found = await proof();
    expect(found.reasons).toContain('surplus');
    expect(found.days.flatMap(({ messages }) => messages.surplus_ids)).toEqual([row?.id]);
    await clock.pass(HOUR_MS + 1_000);
    await until(
      'the removal',
      async () =>
        (await request(server.url).get(`/messages/${row?.id}`).set(ada.bearer)).status === 404,
    );
    await audited();
    expect((await proof()).days.flatMap(({ messages }) => messages.surplus_ids)).toEqual([]);
  });
});
