import { scheduleChangedSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { ListedContents } from '../../src/mail/listed-contents/listed-contents.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { ListingMailbox, type ListingMessage } from '../support/listing-mailbox.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { TestClock } from '../support/test-clock.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('messages on which a provider fails', () => {
  let clock: TestClock;
  let server: TestApp;
  let database: Database;
  let dispatcher: MailboxSyncDispatcher;

  beforeAll(async () => {
    // Not earlier: accounts are created by the database's clock, and older messages are no news.
    clock = new TestClock();
    server = await startTestApp({ ROLES: 'api' }, { clock });
    database = server.app.get(Database);
    dispatcher = server.app.get(MailboxSyncDispatcher);
  });
  afterAll(() => server.close());

  const messageOf = (
    name: string,
    receivedAt = new Date(clock.now().getTime() + MINUTE),
  ): ListingMessage => ({
    providerId: name,
    threadId: `thread of ${name}`,
    folderIds: ['INBOX'],
    receivedAt,
    unread: true,
    starred: false,
    mime: Buffer.from(
      `From: bo@x.test\r\nTo: me@sandbox.test\r\nSubject: About ${name}\r\nMessage-ID: <${name}@x.test>\r\n\r\nText\r\n`,
    ),
  });

  /** An account whose mailbox has been mirrored, and has one message. */
  async function mirrored() {
    const application = await createApplication(server.app);
    await createWebhook(server.app, application, 'https://app.test/hook', {
      triggers: ['message.created'],
    });
    const account = await createAccount(server.app, application);
    const mailbox = new ListingMailbox({ history: 'complete' });
    mailbox.add(messageOf('old', new Date(0)));
    mailbox.install(server.app);
    await syncPass(account);
    return { account, mailbox };
  }
  const syncPass = async (account: TestAccount) =>
    outcomeOf(await syncAccount(server.app, dispatcher, account.id));
  /** Ids that were requested to be read, in order. */
  const readsOf = (mailbox: ListingMailbox) => mailbox.fetches.flatMap(({ ids }) => ids);
  const shown = (account: TestAccount) =>
    database.query<{ id: string; provider_id: string; subject: string; listed: boolean }>(
      'select id, provider_id, subject, listed from message where account_id = $1 order by provider_id',
      [account.id],
    );
  const failures = (account: TestAccount) =>
    database.query<{ provider_id: string; times: number; reason: string }>(
      'select provider_id, times, reason from sync_failure where account_id = $1 order by provider_id',
      [account.id],
    );
  const notified = async (account: TestAccount) => {
    const rows = await database.query<{ id: string }>(
      `select m.id from message m join webhook_event e on e.dedupe = 'message:' || m.id || ':created' where m.account_id = $1`,
      [account.id],
    );
    return rows.map(({ id }) => id).toSorted();
  };
  const stateOf = async (account: TestAccount) =>
    (
      await database.query<{ state: string }>(
        `select sync_state as state from "grant" where id = $1`,
        [account.id],
      )
    )[0]?.state;

  it('do not stop the others; they are requested again, less and less often, and reported once', async () => {
    const { account, mailbox } = await mirrored();
    const bad = ['bad-1', 'bad-2', 'bad-3'];
    for (const name of [...bad, 'good']) mailbox.add(messageOf(name));
    for (const name of bad) mailbox.failing.set(name, 'all');
    expect((await syncPass(account)).result).toEqual({
      kind: 'current',
      changed: true,
      isShown: true,
    });
    expect((await shown(account)).map((one) => one.provider_id)).toEqual(['good', 'old']);
    const reason = 'Provider: 500 Backend Error';
    expect(await failures(account)).toEqual(
      bad.map((name) => ({ provider_id: name, times: 1, reason })),
    );
    // Not before their time.
    await syncPass(account);
    expect(readsOf(mailbox)).toEqual([]);
    clock.advance(MINUTE);
    await syncPass(account);
    expect(readsOf(mailbox).toSorted()).toEqual(bad);
    // They are news: work on history stops first if a ceiling comes near.
    expect(new Set(mailbox.fetches.map(({ priority }) => priority))).toEqual(
      new Set(['interactive']),
    );
    clock.advance(MINUTE);
    await syncPass(account);
    expect(readsOf(mailbox)).toHaveLength(3);
    clock.advance(MINUTE);
    mailbox.failing.delete('bad-2');
    mailbox.remove('bad-3');
    await syncPass(account);
    expect((await shown(account)).map((one) => one.subject)).toEqual([
      'About bad-2',
      'About good',
      'About old',
    ]);
    // One answer that a message is gone may be passing.
    expect(await failures(account)).toMatchObject([
      { provider_id: 'bad-1', times: 3 },
      { provider_id: 'bad-3', reason: expect.stringContaining('is asked once more') },
    ]);
    const ids = (await shown(account)).filter((one) => one.provider_id !== 'old');
    expect(await notified(account)).toEqual(ids.map(({ id }) => id).toSorted());
    // At most once a day, however often it has failed.
    for (let round = 0; round < 12; round += 1) {
      clock.advance(DAY);
      await syncPass(account);
    }
    expect(await failures(account)).toMatchObject([{ provider_id: 'bad-1' }]);
    const before = readsOf(mailbox).length;
    clock.advance(DAY - MINUTE);
    await syncPass(account);
    expect(readsOf(mailbox)).toHaveLength(before);
    clock.advance(MINUTE);
    await syncPass(account);
    expect(readsOf(mailbox)).toHaveLength(before + 1);
  });

  it('with their content only are shown and reported at once, and completed later or on request', async () => {
    const { account, mailbox } = await mirrored();
    for (const name of ['bad-1', 'bad-2']) {
      mailbox.add(messageOf(name));
      mailbox.failing.set(name, 'content');
    }
    await syncPass(account);
    const ids = new Map((await shown(account)).map((one) => [one.provider_id, one.id]));
    const [first, second] = [ids.get('bad-1') ?? '', ids.get('bad-2') ?? ''];
    expect(await notified(account)).toEqual([first, second].toSorted());
    expect(await shown(account)).toMatchObject([
      { subject: '', listed: true },
      { subject: '', listed: true },
      { subject: 'About old', listed: false },
    ]);
    const contents = server.app.get(ListedContents);
    await expect(contents.complete(account.id, [first])).rejects.toThrow('500 Backend Error');
    mailbox.failing.clear();
    await contents.complete(account.id, [first]);
    expect(await failures(account)).toMatchObject([{ provider_id: 'bad-2' }]);
    clock.advance(MINUTE);
    await syncPass(account);
    expect(await shown(account)).toMatchObject([
      { subject: 'About bad-1', listed: false },
      { subject: 'About bad-2', listed: false },
      { subject: 'About old' },
    ]);
    expect(await failures(account)).toEqual([]);
    expect(await notified(account)).toHaveLength(2);
  });

  it('among listed ones do not keep the others from being completed', async () => {
    const account = await createAccount(server.app, await createApplication(server.app));
    const mailbox = new ListingMailbox({ history: 'ids' });
    const names = Array.from({ length: 120 }, (_, n) => `m-${String(n).padStart(3, '0')}`);
    for (const name of names) {
      mailbox.add(messageOf(name));
      clock.advance(1000);
    }
    // The newest ones, more than are requested at once.
    for (const name of names.slice(60)) mailbox.failing.set(name, 'content');
    mailbox.install(server.app);
    await syncPass(account);
    const listed = (await shown(account)).filter((one) => one.listed);
    expect(listed.map((one) => one.provider_id)).toEqual(names.slice(60));
    mailbox.failing.clear();
    clock.advance(MINUTE);
    await syncPass(account);
    expect((await shown(account)).filter((one) => one.listed)).toEqual([]);
    expect(await failures(account)).toEqual([]);
  });

  it('and messages that may be copies of sent ones are requested together, and only once each', async () => {
    const account = await createAccount(server.app, await createApplication(server.app));
    const mailbox = new ListingMailbox({ history: 'ids' });
    const names = Array.from({ length: 45 }, (_, n) => `sent-${String(n).padStart(2, '0')}`);
    for (const name of names) mailbox.add({ ...messageOf(name), folderIds: ['SENT'] });
    mailbox.stalled = { reason: 'Provider: the list fails', since: clock.now() };
    mailbox.install(server.app);
    await syncPass(account);
    // A message that was sent from here, and whose copy is awaited.
    mailbox.add({ ...messageOf('own'), folderIds: ['SENT'] });
    await syncPass(account);
    await database.query('update message set provider_id = null where account_id = $1', [
      account.id,
    ]);
    mailbox.stalled = null;
    await syncPass(account);
    expect((await failures(account)).map((one) => one.provider_id)).toEqual(names);
    mailbox.failing.set('sent-07', 'content');
    clock.advance(MINUTE);
    await syncPass(account);
    const groups = mailbox.fetches.map(({ ids }) => ids.length);
    // The one on which the provider failed is then requested alone: where it is, and its content.
    expect(groups).toEqual([20, 20, 5, 1, 1]);
    expect(readsOf(mailbox).slice(45)).toEqual(['sent-07', 'sent-07']);
    const stored = async () => (await shown(account)).flatMap((one) => one.provider_id ?? []);
    expect(await stored()).toEqual(names.filter((name) => name !== 'sent-07'));
    mailbox.failing.clear();
    clock.advance(2 * MINUTE);
    await syncPass(account);
    expect(await stored()).toEqual(names);
  });

  describe('and messages that the database refuses', () => {
    beforeEach(async () => {
      await database.query(`create function refuse_message() returns trigger language plpgsql as $$
        begin raise exception 'no such value' using errcode = '22021'; end $$`);
      await database.query(`create trigger refuse_message before insert or update on message for each row
        when (new.subject like '%bad%') execute function refuse_message()`);
    });
    afterEach(() => database.query('drop function if exists refuse_message cascade'));
    const accept = () => database.query('drop function refuse_message cascade');
    const NAMES = ['bad-1', 'bad-2', 'good-1', 'good-2'];

    it.each(['complete', 'ids'] as const)(
      'do not keep the others from being stored, and are stored as soon as they can be (%s)',
      async (history) => {
        const account = await createAccount(server.app, await createApplication(server.app));
        const mailbox = new ListingMailbox({ history });
        for (const name of NAMES) mailbox.add(messageOf(name, clock.now()));
        mailbox.install(server.app);
        expect((await syncPass(account)).result).toEqual({
          kind: 'current',
          changed: true,
          isShown: true,
        });
        const subjects = ['', '', 'About good-1', 'About good-2'];
        expect((await shown(account)).map(({ subject }) => subject)).toEqual(subjects);
        const reason = 'The message cannot be stored: no such value';
        expect(await failures(account)).toMatchObject([
          { provider_id: 'bad-1', reason },
          { provider_id: 'bad-2', reason },
        ]);
        await accept();
        clock.advance(MINUTE);
        await syncPass(account);
        expect((await shown(account)).map(({ subject }) => subject)).toEqual(
          NAMES.map((name) => `About ${name}`),
        );
        expect(await failures(account)).toEqual([]);
      },
    );
  });

  it('a mailbox that cannot be read further reports its news, and is shown as failing after a while', async () => {
    const account = await createAccount(server.app, await createApplication(server.app));
    const mailbox = new ListingMailbox({ history: 'complete' });
    mailbox.add(messageOf('old', new Date(0)));
    mailbox.stalled = { reason: 'Provider: the list fails', since: clock.now() };
    mailbox.install(server.app);
    const outcome = await syncPass(account);
    expect(outcome.result).toEqual({ kind: 'idle', changed: true });
    const wait =
      outcome.next.kind === 'again' ? outcome.next.at.getTime() - clock.now().getTime() : 0;
    expect(wait).toBe(MINUTE);
    mailbox.add(messageOf('new'));
    await scheduleChangedSync(database, [account.id]);
    await syncPass(account);
    expect((await shown(account)).map((one) => one.provider_id)).toEqual(['new']);
    clock.advance(10 * MINUTE);
    await syncPass(account);
    expect(await stateOf(account)).toBe('sync-error');
    mailbox.stalled = null;
    await syncPass(account);
    expect(await stateOf(account)).toBe('running');
    expect((await shown(account)).map((one) => one.provider_id)).toEqual(['new', 'old']);
  });
});
