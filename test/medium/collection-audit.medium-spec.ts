import { randomUUID } from 'node:crypto';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { BudgetExhaustedError } from '../../src/platform/budgets/budget-exhausted-error.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type {
  Connector,
  ContactsPort,
  EventChanges,
  ProviderAccount,
} from '../../src/providers/port/connector.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { HostedCalendars } from '../support/hosted-calendars.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const START = Date.UTC(2030, 2, 11, 8) / 1000;
const DAY = 86_400;
const event = (title: string, more: Record<string, unknown> = {}) => ({
  title,
  when: { object: 'timespan', start_time: START, end_time: START + 3600 },
  ...more,
});

interface Audited {
  checked_at: Date | null;
  events_checked: number;
  events_repaired: number;
  contacts_checked: number;
  contacts_repaired: number;
}

describe('the audit of calendars and contacts', () => {
  const clock = new PassingClock();
  let server: TestApp;
  let database: Database;
  let application: TestApplication;
  let book: ContactsPort;
  let hosted: HostedCalendars;
  /** Replaces or breaks what the provider lists from its beginning. */
  let atListing: (changes: EventChanges) => EventChanges;
  let atBook: () => void;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' }, { clock });
    database = server.app.get(Database);
    const registry = server.app.get(ConnectorRegistry);
    book = registry.require('sandbox').contacts as ContactsPort;
    application = await createApplication(server.app);
    await createWebhook(server.app, application, 'http://127.0.0.1:9/', {
      triggers: ['event.created', 'event.updated', 'event.deleted', 'contact.created'],
    });
  });
  beforeEach(() => {
    hosted = new HostedCalendars();
    atListing = (changes) => changes;
    atBook = () => {};
    const list = hosted.listEventChanges.bind(hosted);
    hosted.listEventChanges = async (account, calendar, cursor, limit) => {
      const changes = await list(account, calendar, cursor, limit);
      return cursor === null ? atListing(changes) : changes;
    };
    const contacts: Partial<ContactsPort> = {
      hasAddressBook: () => true,
      listContactChanges: async (account, cursor, limit) => {
        if (cursor === null) atBook();
        return book.listContactChanges(account, cursor, limit);
      },
    };
    server.app
      .get(ConnectorRegistry)
      .replace({ name: 'sandbox', calendar: hosted, contacts } as unknown as Connector);
  });
  afterAll(() => server.close());

  const rows = <T extends object>(text: string, ...values: unknown[]) =>
    database.query<T>(text, values);

  /** Runs sync passes until the account waits for its next poll. */
  async function settle({ id }: TestAccount): Promise<void> {
    const dispatcher = server.app.get(MailboxSyncDispatcher);
    for (let runs = 0; runs < 30; runs++) {
      const before = clock.now().getTime();
      const { next } = outcomeOf(await syncAccount(server.app, dispatcher, id));
      if (next.kind === 'again' && next.at.getTime() > before + 5_000) return;
    }
    throw new Error('the sync passes do not end');
  }
  async function connect() {
    const account = await createAccount(server.app, application);
    const found = await server.app.get(ProviderAccounts).find(account.id);
    const remote = found as ProviderAccount;
    const [calendar] = await hosted.listCalendars(remote);
    return { account, remote, calendar: calendar?.providerId ?? '' };
  }
  /** The changes so far were never reported: the stored cursors are past them. */
  async function lose({ id }: TestAccount): Promise<void> {
    await rows(`update calendar set event_cursor = '0:999999' where account_id = $1`, id);
    await rows(`update sync_job set contacts_cursor = '999999' where account_id = $1`, id);
  }
  async function audit(account: TestAccount): Promise<Audited> {
    await rows(`update mirror_audit set collections_at = now() where account_id = $1`, account.id);
    await settle(account);
    // Each collection that lacks objects is listed a second time after an hour.
    for (let hours = 0; hours < 2; hours += 1) {
      await clock.pass(3_601_000);
      await settle(account);
    }
    return auditOf(account);
  }
  async function auditOf({ id }: TestAccount): Promise<Audited> {
    const [row] = await rows<Audited>(
      `select checked_at, events_checked, events_repaired, events_skipped, contacts_checked, contacts_repaired
       from mirror_audit where account_id = $1`,
      id,
    );
    return row as Audited;
  }
  const titles = async ({ id }: TestAccount) =>
    (
      await rows<{ title: string }>(
        `select title from event where account_id = $1 and status <> 'cancelled' order by title`,
        id,
      )
    ).map(({ title }) => title);
  const people = async ({ id }: TestAccount) =>
    (
      await rows<{ name: string }>(
        `select content ->> 'given_name' as name from contact where account_id = $1 order by 1`,
        id,
      )
    ).map(({ name }) => name);
  const cursors = ({ id }: TestAccount) =>
    rows(
      `select j.contacts_cursor, c.event_cursor from sync_job j join calendar c using (account_id)
       where j.account_id = $1`,
      id,
    );
  const log = ({ id }: TestAccount) =>
    rows<{ object: string; event: string }>(
      `select object, event from change where account_id = $1 and object in ('event', 'contact') order by seq`,
      id,
    );
  const webhooks = async ({ id }: TestAccount) =>
    (
      await rows<{ body: Buffer }>(
        `select body from webhook_event where application_id = $1 order by id`,
        application.id,
      )
    )
      .map(({ body }) => body.toString())
      .filter((body) => body.includes(id)).length;

  it('compares everything once, changes nothing that is equal, and keeps the cursors', async () => {
    const { account, remote, calendar } = await connect();
    for (let n = 0; n < 120; n++) hosted.put({ calendar, content: event(`event ${n}`) });
    await book.createContact(remote, randomUUID(), { given_name: 'Ada' });
    await settle(account);
    const first = await auditOf(account);
    expect(first).toMatchObject({ events_checked: 120, events_repaired: 0, contacts_checked: 1 });
    expect(first.checked_at).not.toBeNull();
    const before = [await log(account), await cursors(account)];
    expect(await audit(account)).toMatchObject({ events_checked: 120, events_repaired: 0 });
    expect([await log(account), await cursors(account)]).toEqual(before);
  });

  it('adds, changes and removes events whose changes were never reported, with webhooks', async () => {
    const { account, calendar } = await connect();
    const [changed, deleted] = ['changed', 'deleted', 'equal'].map((title) =>
      hosted.put({ calendar, content: event(title) }),
    );
    await settle(account);
    hosted.put({ calendar, content: event('new') });
    hosted.put({ ...changed!, content: { title: 'changed at the provider' } });
    hosted.remove(deleted!.providerId);
    await lose(account);
    const before = await cursors(account);
    await settle(account);
    expect(await titles(account)).toEqual(['changed', 'deleted', 'equal']);
    const logged = (await log(account)).length;
    const sent = await webhooks(account);

    expect(await audit(account)).toMatchObject({ events_checked: 3, events_repaired: 3 });

    expect(await titles(account)).toEqual(['changed at the provider', 'equal', 'new']);
    const changes = (await log(account)).slice(logged).map((one) => one.event);
    expect(changes.toSorted()).toEqual(['create', 'delete', 'modify']);
    expect(await webhooks(account)).toBe(sent + 3);
    expect(await cursors(account)).toEqual(before);
    expect(await audit(account)).toMatchObject({ events_repaired: 0 });
  });

  it('repairs the instances of a series that a provider reports on their own', async () => {
    const { account, calendar } = await connect();
    const recurrence = { rrule: ['RRULE:FREQ=DAILY;COUNT=9'], timezone: 'UTC' };
    const { providerId } = hosted.put({ calendar, content: event('series', { recurrence }) });
    const reset = hosted.putInstance(providerId, START + DAY, { title: 'reset' });
    const excluded = hosted.exclude(providerId, START + 2 * DAY);
    await settle(account);
    expect(await titles(account)).toEqual(['reset', 'series']);
    await hosted.resetInstance({} as ProviderAccount, reset.providerId);
    await hosted.resetInstance({} as ProviderAccount, excluded.providerId);
    hosted.putInstance(providerId, START + 3 * DAY, { title: 'other' });
    await lose(account);

    await audit(account);

    expect(await titles(account)).toEqual(['other', 'series']);
    const counting = await rows<{ count: number }>(
      `select count(*)::int as count from event
       where account_id = $1 and master_event_id is not null and not released`,
      account.id,
    );
    expect(counting).toEqual([{ count: 1 }]);
    expect(await audit(account)).toMatchObject({ events_repaired: 0 });
  });

  it('adds 40 percent of a calendar and of an address book that are missing in the mirror', async () => {
    const { account, remote, calendar } = await connect();
    for (let n = 0; n < 10; n++) {
      hosted.put({ calendar, content: event(`event ${n}`) });
      await book.createContact(remote, randomUUID(), { given_name: `Person ${n}` });
    }
    await settle(account);
    const whole = [await titles(account), await people(account)];
    for (const table of ['event', 'contact'])
      await rows(
        `delete from ${table} where id in (select id from ${table} where account_id = $1 order by id limit 4)`,
        account.id,
      );
    expect(await audit(account)).toMatchObject({ events_repaired: 4, contacts_repaired: 4 });
    expect([await titles(account), await people(account)]).toEqual(whole);
  });

  it('repairs contacts whose changes were never reported', async () => {
    const { account, remote } = await connect();
    const ids: string[] = [];
    for (const given_name of ['Ada', 'Bo', 'Cleo']) {
      const key = randomUUID();
      ids.push((await book.createContact(remote, key, { given_name })).providerId);
    }
    await settle(account);
    await book.updateContact(remote, ids[0] ?? '', { given_name: 'Adele' });
    await book.deleteContact(remote, ids[1] ?? '');
    await book.createContact(remote, randomUUID(), { given_name: 'Dana' });
    await lose(account);
    await settle(account);
    expect(await people(account)).toEqual(['Ada', 'Bo', 'Cleo']);

    expect(await audit(account)).toMatchObject({ contacts_checked: 3, contacts_repaired: 3 });

    expect(await people(account)).toEqual(['Adele', 'Cleo', 'Dana']);
  });

  it('leaves alone events and contacts that have an open provider write', async () => {
    const { account, remote, calendar } = await connect();
    const changed = hosted.put({ calendar, content: event('changed') });
    const deleted = hosted.put({ calendar, content: event('deleted') });
    const contact = await book.createContact(remote, randomUUID(), { given_name: 'Ada' });
    await settle(account);
    for (const table of ['event', 'contact'])
      await rows(
        `with s as (insert into job_status (id, account_id, action, object, status)
                    select gen_random_uuid(), $1, 'update_' || $2, $2, 'pending' from ${table} where account_id = $1)
         insert into provider_job (id, account_id, action, object_id, payload, run_at, due_at)
         select gen_random_uuid(), $1, 'update_' || $2, id, '{}', now() + interval '1 h', now() + interval '1 h'
         from ${table} where account_id = $1`,
        account.id,
        table,
      );
    hosted.put({ ...changed, content: { title: 'changed at the provider' } });
    hosted.remove(deleted.providerId);
    await book.deleteContact(remote, contact.providerId);
    await lose(account);

    expect(await audit(account)).toMatchObject({ events_repaired: 0, contacts_repaired: 0 });
    expect(await titles(account)).toEqual(['changed', 'deleted']);
    expect(await people(account)).toEqual(['Ada']);

    await rows(`delete from provider_job where account_id = $1`, account.id);
    expect(await audit(account)).toMatchObject({ events_repaired: 2, contacts_repaired: 1 });
    expect(await titles(account)).toEqual(['changed at the provider']);
    expect(await people(account)).toEqual([]);
  });

  it('removes nothing that a second listing contains', async () => {
    const { account, calendar } = await connect();
    for (const title of ['a', 'b', 'c']) hosted.put({ calendar, content: event(title) });
    await settle(account);
    let listings = 0;
    atListing = (changes) => {
      listings += 1;
      return listings === 1 ? { ...changes, events: [], present: [] } : changes;
    };
    expect(await audit(account)).toMatchObject({ events_repaired: 0 });
    expect(listings).toBe(2);
    expect(await titles(account)).toEqual(['a', 'b', 'c']);
  });

  it('removes nothing when a listing fails, and still compares the other collections', async () => {
    const { account, remote, calendar } = await connect();
    const { providerId } = hosted.put({ calendar, content: event('deleted') });
    await settle(account);
    const { checked_at: before } = await auditOf(account);
    hosted.remove(providerId);
    await book.createContact(remote, randomUUID(), { given_name: 'Ada' });
    await lose(account);
    let listings = 0;
    atListing = (changes) => {
      listings += 1;
      if (listings > 1) throw new ProviderError('temporary', 'maintenance');
      return changes;
    };
    const failed = await audit(account);
    expect(failed).toMatchObject({ events_repaired: 0, events_skipped: 1, contacts_repaired: 1 });
    expect(failed.checked_at).toEqual(before);
    expect(await titles(account)).toEqual(['deleted']);
    const [next] = await rows<{ soon: boolean }>(
      `select collections_at < now() + interval '1.5 days' as soon from mirror_audit where account_id = $1`,
      account.id,
    );
    expect(next).toEqual({ soon: true });
    atListing = (changes) => changes;
    expect(await audit(account)).toMatchObject({ events_repaired: 1 });
    expect(await titles(account)).toEqual([]);
  });

  it('waits for the budget of the provider, and continues where it stopped', async () => {
    const { account, remote, calendar } = await connect();
    for (let n = 0; n < 3; n++) hosted.put({ calendar, content: event(`event ${n}`) });
    await settle(account);
    hosted.put({ calendar, content: event('new') });
    await book.createContact(remote, randomUUID(), { given_name: 'Ada' });
    await lose(account);
    atBook = () => {
      throw new BudgetExhaustedError(3_000);
    };
    await audit(account);
    expect(await titles(account)).toContain('new');
    expect(await people(account)).toEqual([]);
    const [waiting] = await rows(
      `select collections_at > now() + interval '2900 s' as waits, collections -> 'events' as events
       from mirror_audit where account_id = $1`,
      account.id,
    );
    const events = { checked: 4, repaired: 1, missing: 1, surplus: 0, changed: 0, skipped: 0 };
    expect(waiting).toEqual({ waits: true, events });
    atBook = () => {};
    expect(await audit(account)).toMatchObject({
      events_checked: 4,
      events_repaired: 1,
      contacts_repaired: 1,
    });
  });

  it('continues where it stopped when the worker dies between two pages', async () => {
    const { account, calendar } = await connect();
    for (let n = 0; n < 250; n++) hosted.put({ calendar, content: event(`event ${n}`) });
    await settle(account);
    await rows(
      `delete from event where id in (select id from event where account_id = $1 order by id limit 100)`,
      account.id,
    );
    const list = hosted.listEventChanges.bind(hosted);
    const listed: (string | null)[] = [];
    hosted.listEventChanges = async (one, id, cursor, limit) => {
      const changes = await list(one, id, cursor, limit);
      listed.push(cursor);
      // Another worker takes over the mailbox while the third page is listed.
      if (listed.length === 4)
        await rows(`update sync_job set fence = fence + 1 where account_id = $1`, account.id);
      return changes;
    };
    await rows(`update mirror_audit set collections_at = now() where account_id = $1`, account.id);
    await syncAccount(server.app, server.app.get(MailboxSyncDispatcher), account.id);
    await rows(`update sync_job set state = 0, worker_id = null where account_id = $1`, account.id);
    await settle(account);
    expect(await auditOf(account)).toMatchObject({ events_checked: 250, events_repaired: 100 });
    expect(await titles(account)).toHaveLength(250);
    expect(listed.filter((cursor) => cursor === null)).toHaveLength(1);
  });
});
