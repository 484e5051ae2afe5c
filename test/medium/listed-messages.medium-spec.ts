import { APP_CONFIG, type AppConfig } from '../../src/platform/config/app-config.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { ListedContents } from '../../src/mail/listed-contents/listed-contents.ts';
import { scheduleChangedSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { fakeLease } from '../support/engine-steps.ts';
import {
  ListingMailbox,
  type ListingMessage,
  type ListingOptions,
} from '../support/listing-mailbox.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { syncAccount } from '../support/sync.ts';
import { expectThreadsRefreshed } from '../support/threads.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2020, 0, 1);

const INVITATION = [
  'BEGIN:VCALENDAR',
  'VERSION:2.0',
  'PRODID:-//x//EN',
  'METHOD:REQUEST',
  'BEGIN:VEVENT',
  'UID:meeting@x.test',
  'DTSTAMP:20200101T000000Z',
  'DTSTART:20300101T100000Z',
  'DTEND:20300101T110000Z',
  'SUMMARY:Meeting',
  'ORGANIZER:mailto:person3@x.test',
  'ATTENDEE:mailto:me@sandbox.test',
  'END:VEVENT',
  'END:VCALENDAR',
  '',
].join('\r\n');

/** Message `n` of a mailbox: three messages to a thread, some with a file or an invitation. */
function messageOf(n: number, change: Partial<ListingMessage> = {}): ListingMessage {
  const answers = n % 3 === 0 ? '' : `In-Reply-To: <${n - 1}@x.test>\r\n`;
  const part = (type: string, text: string, more = '') =>
    `--b\r\nContent-Type: ${type}\r\n${more}\r\n${text}\r\n`;
  const file = part(
    'text/plain',
    `File ${n}`,
    `Content-Disposition: attachment; filename=${n}.txt\r\n`,
  );
  const parts = [
    part('text/html', `<p>Words of message number${n}</p>`),
    ...(n % 5 === 0 ? [file] : []),
    ...(n % 7 === 3 ? [part('text/calendar; method=REQUEST', INVITATION)] : []),
  ];
  return {
    providerId: `id-${n}`,
    threadId: `thread-${Math.floor(n / 3)}`,
    folderIds: ['INBOX'],
    receivedAt: new Date(START + n * HOUR),
    unread: n % 2 === 0,
    starred: n % 4 === 0,
    mime: Buffer.from(
      `From: Person ${n} <person${n}@x.test>\r\nTo: me@sandbox.test\r\nMessage-ID: <${n}@x.test>\r\n${answers}` +
        `Subject: ${answers === '' ? '' : 'Re: '}Subject ${Math.floor(n / 3)}\r\nMIME-Version: 1.0\r\n` +
        `Content-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('')}--b--\r\n`,
    ),
    ...change,
  };
}

describe('listed messages', () => {
  let server: TestApp;
  let database: Database;
  let dispatcher: MailboxSyncDispatcher;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    dispatcher = server.app.get(MailboxSyncDispatcher);
  });
  afterAll(() => server.close());

  async function mailboxOf(count: number, history: ListingOptions['history']) {
    const account = await createAccount(server.app, await createApplication(server.app));
    const mailbox = new ListingMailbox({ history });
    for (let n = 0; n < count; n += 1) mailbox.add(messageOf(n));
    mailbox.install(server.app);
    return { account, mailbox };
  }
  /** @param rounds how often the run is asked whether to go on before it has to stop */
  async function syncPass(account: TestAccount, rounds = Infinity) {
    let left = rounds;
    const lease = fakeLease({ trusted: () => left-- > 0 });
    return outcomeOf(await syncAccount(server.app, dispatcher, account.id, lease));
  }
  const listedCount = async (account: TestAccount) => {
    const [row] = await database.query<{ listed: number; all: number }>(
      'select count(*) filter (where listed)::int as listed, count(*)::int as all from message where account_id = $1',
      [account.id],
    );
    return row;
  };
  const idOf = async (account: TestAccount, providerId: string) => {
    const values = [account.id, providerId];
    const [row] = await database.query<{ id: string }>(
      'select id from message where account_id = $1 and provider_id = $2',
      values,
    );
    return row?.id ?? '';
  };
  const failures = (account: TestAccount) =>
    database.query<{ provider_id: string; reason: string }>(
      'select provider_id, reason from sync_failure where account_id = $1',
      [account.id],
    );
  const changesAfter = (account: TestAccount, seq: number) =>
    database.query<{ object: string; event: string; id: string }>(
      `select object, event, object_id as id from change where account_id = $1 and seq > $2 order by seq`,
      [account.id, seq],
    );
  const lastChange = async () =>
    Number(
      (await database.query<{ seq: string }>('select coalesce(max(seq), 0) as seq from change'))[0]
        ?.seq,
    );

  /** Everything the mirror has of an account, without ids and times of writing. */
  async function snapshot(account: TestAccount) {
    const read = (sql: string) => database.query(sql, [account.id]);
    const without = `'id' - 'account_id' - 'thread_id' - 'message_id' - 'created_at' - 'updated_at' - 'folder_id' - 'event_ids'`;
    return {
      messages: await read(
        `select (to_jsonb(m) - ${without}) || (to_jsonb(c) - ${without}) as row, cardinality(event_ids) as events,
           (select string_agg(o.provider_id, ' ' order by o.date, o.provider_id) from message o where o.thread_id = m.thread_id) as thread,
           (select jsonb_agg(to_jsonb(f) - ${without} order by f.part) from file f where f.message_id = m.id) as files,
           (select jsonb_agg(jsonb_build_array(f.provider_id, mf.date) order by 1)
            from message_folder mf join folder f on f.id = mf.folder_id where mf.message_id = m.id) as folders,
           (select s.date from search_document s where s.message_id = m.id) as searched,
           (select array_agg(l.lexeme order by l.lexeme) from search_document s, unnest(s.document) l
            where s.message_id = m.id) as words
         from message m join message_content c on c.account_id = m.account_id and c.message_id = m.id where m.account_id = $1 order by m.provider_id`,
      ),
      threads: await read(
        `select to_jsonb(t) - ${without} - 'version' - 'folder_ids' as row, to_jsonb(s) - 'account_id' - 'thread_id' - 'message_ids' as summary,
           (select jsonb_agg(jsonb_build_array(p.person, p.messages) order by p.person) from thread_person p where p.thread_id = t.id) as people,
           (select array_agg(r.message_id_header order by 1) from thread_reference r where r.thread_id = t.id) as keys
         from thread t join thread_summary s on s.thread_id = t.id where t.account_id = $1 order by t.first_message_at`,
      ),
      contacts: await read(
        `select content, source, name_rank from contact where account_id = $1 order by content::text`,
      ),
      events: await read(`select ical_uid from event where account_id = $1 order by 1`),
    };
  }

  it.each(['headers', 'ids'] as const)(
    'become what they would have been with their contents from the start, when they are listed with %s',
    async (history) => {
      const atOnce = await mailboxOf(40, 'complete');
      await syncPass(atOnce.account);
      const later = await mailboxOf(40, history);
      await syncPass(later.account);
      expect(await listedCount(later.account)).toEqual({ listed: 0, all: 40 });
      const [expected, found] = [await snapshot(atOnce.account), await snapshot(later.account)];
      expect(found.messages).toEqual(expected.messages);
      expect(found.threads).toEqual(expected.threads);
      expect(found.contacts).toEqual(expected.contacts);
      expect(found.contacts.length).toBeGreaterThan(30);
      expect(found.events).toEqual(expected.events);
      expect(found.events).toEqual([{ ical_uid: 'meeting@x.test' }]);
      await expectThreadsRefreshed(database);
    },
  );

  it('are in the mirror with all that is known before any content is fetched', async () => {
    const { account, mailbox } = await mailboxOf(9, 'ids');
    mailbox.onFetch = () => {
      throw new ProviderError('rate-limited', 'the quota is used up', { retryAfterSeconds: 5 });
    };
    const outcome = await syncPass(account);
    expect(outcome.result).toEqual({
      kind: 'current',
      changed: true,
      isShown: true,
    });
    expect(await listedCount(account)).toEqual({ listed: 9, all: 9 });
    const [grant] = await database.query(`select sync_state from "grant" where id = $1`, [
      account.id,
    ]);
    expect(grant).toEqual({ sync_state: 'running' });
    const threads = await database.query<{
      subject: string;
      unread: boolean;
      message_count: number;
    }>(
      `select subject, unread, message_count from thread where account_id = $1 order by first_message_at`,
      [account.id],
    );
    expect(threads).toHaveLength(3);
    expect(threads[0]).toEqual({ subject: '', unread: true, message_count: 3 });
  });

  it('are completed newest first, and a thread is named by its oldest known message meanwhile', async () => {
    const { account, mailbox } = await mailboxOf(60, 'ids');
    mailbox.mostContents = 2;
    mailbox.onFetch = () => {
      if (mailbox.fetches.length > 1) throw new ProviderError('rate-limited', 'later');
    };
    await syncPass(account);
    const [first] = mailbox.fetches;
    expect(first?.ids.slice(0, 3)).toEqual(['id-59', 'id-58', 'id-57']);
    expect(first?.ids).toHaveLength(50);
    const complete = await database.query<{ provider_id: string; subject: string }>(
      `select m.provider_id, t.subject from message m join thread t on t.id = m.thread_id
       where m.account_id = $1 and not listed order by m.date desc`,
      [account.id],
    );
    expect(complete.slice(0, 2)).toEqual([
      { provider_id: 'id-59', subject: 'Re: Subject 19' },
      { provider_id: 'id-58', subject: 'Re: Subject 19' },
    ]);
  });

  it('do not delay news: completing stops as soon as the mailbox has changed, and goes on afterwards', async () => {
    const { account, mailbox } = await mailboxOf(120, 'headers');
    mailbox.onFetch = async () => {
      if (mailbox.fetches.length > 1) return;
      mailbox.add(messageOf(1_000, { receivedAt: new Date() }));
      await database.transaction((sql) => scheduleChangedSync(sql, [account.id]));
    };
    const outcome = await syncPass(account);
    expect(mailbox.fetches).toHaveLength(1);
    expect(await listedCount(account)).toEqual({ listed: 70, all: 120 });
    expect(outcome.next).toMatchObject({ kind: 'again' });
    await syncPass(account);
    expect(await listedCount(account)).toEqual({ listed: 0, all: 121 });
    expect(mailbox.fetches.flatMap(({ ids }) => ids)).not.toContain('id-1000');
  });

  it('wait without a failure while the quota is used up, and less than until the next poll', async () => {
    const { account, mailbox } = await mailboxOf(5, 'ids');
    mailbox.onFetch = () => {
      throw new ProviderError('rate-limited', 'the quota is used up', { retryAfterSeconds: 4 });
    };
    const before = Date.now();
    const outcome = await syncPass(account);
    if (outcome.next.kind !== 'again') throw new Error('the row must run again');
    expect(outcome.next.at.getTime()).toBeGreaterThanOrEqual(before + 4_000);
    expect(outcome.next.at.getTime()).toBeLessThan(Date.now() + 5_000);
    const [job] = await database.query('select failures from sync_job where account_id = $1', [
      account.id,
    ]);
    expect(job).toEqual({ failures: 0 });
  });

  it('that a provider returns in part are completed in several calls', async () => {
    const { account, mailbox } = await mailboxOf(10, 'ids');
    mailbox.mostContents = 4;
    await syncPass(account);
    expect(await listedCount(account)).toEqual({ listed: 0, all: 10 });
    expect(mailbox.fetches.map(({ ids }) => ids.length)).toEqual([10, 6, 2]);
  });

  it('are changed, moved and deleted like other messages, and keep that when they are completed', async () => {
    const { account, mailbox } = await mailboxOf(6, 'ids');
    mailbox.onFetch = () => {
      throw new ProviderError('temporary', 'not now');
    };
    await syncPass(account);
    const ids = await Promise.all([1, 2, 3].map((n) => idOf(account, `id-${n}`)));
    mailbox.change('id-1', { unread: true, starred: true });
    mailbox.change('id-2', { folderIds: ['TRASH'] });
    mailbox.remove('id-3');
    await syncPass(account);
    expect(await listedCount(account)).toEqual({ listed: 5, all: 5 });
    mailbox.onFetch = () => undefined;
    await syncPass(account);
    const rows = await database.query(
      `select m.id, unread, starred, subject, array(select f.provider_id from message_folder mf join folder f on f.id = mf.folder_id
              where mf.message_id = m.id) as folders
       from message m where account_id = $1 and provider_id in ('id-1', 'id-2', 'id-3') order by provider_id`,
      [account.id],
    );
    expect(rows).toEqual([
      { id: ids[0], unread: true, starred: true, subject: 'Re: Subject 0', folders: ['INBOX'] },
      { id: ids[1], unread: true, starred: false, subject: 'Re: Subject 0', folders: ['TRASH'] },
    ]);
    await expectThreadsRefreshed(database);
  });

  it('that are gone when their contents are fetched are removed, even if no change reports that', async () => {
    const { account, mailbox } = await mailboxOf(6, 'ids');
    mailbox.onFetch = () => void mailbox.messages.delete('id-3');
    await syncPass(account);
    mailbox.onFetch = () => undefined;
    await syncPass(account);
    expect(await listedCount(account)).toEqual({ listed: 0, all: 5 });
    expect(await idOf(account, 'id-3')).toBe('');
  });

  it('are logged as modified once each, and subscribers are not notified', async () => {
    const { account, mailbox } = await mailboxOf(10, 'ids');
    mailbox.onFetch = () => {
      throw new ProviderError('temporary', 'not now');
    };
    await syncPass(account);
    mailbox.onFetch = () => undefined;
    const seq = await lastChange();
    await syncPass(account);
    const changes = await changesAfter(account, seq);
    const messages = changes.filter(({ object }) => object === 'message');
    expect(messages).toHaveLength(10);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(10);
    expect(messages.every(({ event }) => event === 'modify')).toBe(true);
    // Two attachments, and the calendar file of an invitation.
    const files = changes.filter(({ object }) => object === 'file');
    expect(files.map(({ event }) => event)).toEqual(['create', 'create', 'create']);
  });

  it('are completed after a crash, except for the message that crashed the worker', async () => {
    const { account, mailbox } = await mailboxOf(1_000, 'headers');
    await syncPass(account, 8);
    const before = await listedCount(account);
    expect(before?.all).toBe(1_000);
    expect(before?.listed).toBeGreaterThan(500);
    const [poison] = await database.query<{ provider_id: string; subject: string }>(
      `select provider_id, subject from message where account_id = $1 and listed order by date desc offset 3 limit 1`,
      [account.id],
    );
    await database.query(`update sync_job set crashes = 1, reading = $2 where account_id = $1`, [
      account.id,
      poison?.provider_id,
    ]);
    const fetched = mailbox.fetches.length;
    await syncPass(account, 12);
    expect(mailbox.fetches[fetched]?.ids).toHaveLength(10);
    await database.query(`update sync_job set crashes = 0 where account_id = $1`, [account.id]);
    await syncPass(account);
    expect(await listedCount(account)).toEqual({ listed: 0, all: 1_000 });
    expect(await failures(account)).toEqual([
      { provider_id: poison?.provider_id, reason: 'a worker crashed while it read this message' },
    ]);
    expect(mailbox.fetches.slice(fetched).flatMap(({ ids }) => ids)).not.toContain(
      poison?.provider_id,
    );
    const [kept] = await database.query(
      `select subject from message where account_id = $1 and provider_id = $2`,
      [account.id, poison?.provider_id],
    );
    expect(kept).toEqual({ subject: poison?.subject });
    await expectThreadsRefreshed(database);
  });

  it('are stored once when a request and a sync pass complete them at the same time', async () => {
    const { account, mailbox } = await mailboxOf(30, 'ids');
    mailbox.onFetch = () => {
      throw new ProviderError('temporary', 'not now');
    };
    await syncPass(account);
    const ids = await Promise.all([25, 26, 27].map((n) => idOf(account, `id-${n}`)));
    const seq = await lastChange();
    mailbox.onFetch = async (_, priority) => {
      if (priority === 'history') await server.app.get(ListedContents).complete(account.id, ids);
    };
    await syncPass(account);
    expect(mailbox.fetches.map(({ priority }) => priority)).toContain('interactive');
    expect(await listedCount(account)).toEqual({ listed: 0, all: 30 });
    const changes = await changesAfter(account, seq);
    const modified = changes.filter(({ object }) => object === 'message').map(({ id }) => id);
    expect(modified.toSorted()).toEqual([...new Set(modified)].toSorted());
    expect(modified).toHaveLength(30);
    await expectThreadsRefreshed(database);
  });

  describe('and messages that only changed, but are missing in the mirror,', () => {
    async function mailboxWithMissing(...missing: ListingMessage[]) {
      const account = await createAccount(server.app, await createApplication(server.app));
      const mailbox = new ListingMailbox({ history: 'ids', dated: false });
      mailbox.add(messageOf(0));
      mailbox.install(server.app);
      await syncPass(account);
      mailbox.fetches.length = 0;
      for (const message of missing) {
        mailbox.addUnreported(message);
        mailbox.change(message.providerId, { starred: true });
      }
      return { account, mailbox };
    }
    const dateOf = async (account: TestAccount, providerId: string) => {
      const [row] = await database.query<{ date: Date; subject: string; starred: boolean }>(
        'select date, subject, starred from message where account_id = $1 and provider_id = $2',
        [account.id, providerId],
      );
      return row;
    };

    it('are fetched with their time of receipt, without those that are gone', async () => {
      const { account, mailbox } = await mailboxWithMissing(messageOf(1), messageOf(2));
      mailbox.onFetch = () => void mailbox.messages.delete('id-2');
      await syncPass(account);
      expect(mailbox.fetches).toEqual([{ ids: ['id-1', 'id-2'], priority: 'interactive' }]);
      expect(mailbox.raws).toEqual([]);
      expect(await dateOf(account, 'id-1')).toEqual({
        date: messageOf(1).receivedAt,
        subject: 'Re: Subject 0',
        starred: true,
      });
      expect(await dateOf(account, 'id-2')).toBeUndefined();
    });

    it('are read again later if the provider does not return all of them', async () => {
      const { account, mailbox } = await mailboxWithMissing(messageOf(1), messageOf(2));
      mailbox.onFetch = () => {
        mailbox.mostContents = mailbox.fetches.length === 1 ? 1 : 0;
      };
      const outcome = await syncPass(account);
      expect(outcome.next).toMatchObject({ kind: 'again' });
      const jobs = await database.query('select failures from sync_job where account_id = $1', [
        account.id,
      ]);
      expect(jobs).toEqual([{ failures: 0 }]);
      expect(await dateOf(account, 'id-1')).toBeUndefined();
      mailbox.onFetch = () => {
        mailbox.mostContents = 1;
      };
      await syncPass(account);
      expect((await dateOf(account, 'id-1'))?.date).toEqual(messageOf(1).receivedAt);
      expect((await dateOf(account, 'id-2'))?.date).toEqual(messageOf(2).receivedAt);
    });

    it('are fetched if they are within the sync horizon, and are left out if they are older', async () => {
      const { account } = await mailboxWithMissing(
        messageOf(1, { receivedAt: new Date(Date.now() - HOUR) }),
        messageOf(2),
      );
      const config = server.app.get<AppConfig>(APP_CONFIG);
      const { horizonDays } = config.sync;
      config.sync.horizonDays = 10;
      try {
        await syncPass(account);
      } finally {
        config.sync.horizonDays = horizonDays;
      }
      expect(await idOf(account, 'id-1')).not.toBe('');
      expect(await idOf(account, 'id-2')).toBe('');
    });

    it('are fetched at most 100 at a time', async () => {
      const missing = Array.from({ length: 130 }, (_, n) => messageOf(n + 1));
      const { account, mailbox } = await mailboxWithMissing(...missing);
      await syncPass(account);
      expect(mailbox.fetches.map(({ ids }) => ids.length)).toEqual([100, 30]);
      expect(await listedCount(account)).toEqual({ listed: 0, all: 131 });
    });
  });
});
