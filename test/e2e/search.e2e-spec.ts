import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { Database, idsOf } from '../../src/platform/database/sql.ts';
import { readBodies } from '../../src/mail/messages/contents/read-contents.ts';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Searchable } from '../../src/formats/text/search-document.ts';
import { lockVersions } from '../../src/mail/messages/mirror/store-snippets.ts';
import { storeDocuments } from '../../src/mail/messages/search-documents/store-document.ts';
import { TextBacklogRunner } from '../../src/mail/search/text-backlog.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { sendControl } from '../support/contract-tools.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** A message to find. Its key is the beginning of its Message-ID. */
interface Seed {
  subject: string;
  from?: string;
  to?: string;
  cc?: string;
  references?: string;
  text?: string;
  /** The name of an attachment. */
  file?: string;
}

const SEEDS: Readonly<Record<string, Seed>> = {
  plans: {
    subject: 'Plans for the zeppelin',
    from: 'Bo Tanaka <bo.tanaka@mail.example.test>',
    text: '<style>secretive{}</style><p>The crème br&ucirc;l&eacute;e is on Don&shy;nerstag, at 24&nbsp;Stra\u00dfe.</p>',
    file: 'Budget_v2.final.pdf',
  },
  answer: {
    subject: 'Re: Plans for the zeppelin',
    from: 'Ada <ada@elsewhere.test>',
    references: 'plans',
    text: '<p>The zeppelin is late. Well-known reasons.</p>',
  },
  mention: {
    subject: 'Weather',
    from: 'Cleo <cleo@elsewhere.test>',
    cc: 'Dee Marsh <dee@other.test>',
    text: '<p>A zeppelin was seen. brulee 🎉 i18n</p>',
  },
  chinese: {
    subject: '\u9884\u7b97',
    text: '<p>\u6211\u4eec\u660e\u5929\u4e0b\u5348\u5728\u4f1a\u8bae\u5ba4\u5f00\u4f1a\u8ba8\u8bba\u9884\u7b97\u95ee\u9898\u3002</p>',
  },
  japanese: {
    subject: '\u4f1a\u8b70',
    text: '<p>\u660e\u65e5\u306e\u4f1a\u8b70\u306f\u6771\u4eac\u3067\u884c\u308f\u308c\u307e\u3059\u3002</p>',
  },
  thai: {
    subject: 'Thai',
    text: '<p>\u0e40\u0e23\u0e32\u0e08\u0e30\u0e1b\u0e23\u0e30\u0e0a\u0e38\u0e21\u0e01\u0e31\u0e19\u0e17\u0e35\u0e48\u0e2a\u0e33\u0e19\u0e31\u0e01\u0e07\u0e32\u0e19\u0e43\u0e2b\u0e0d\u0e48</p>',
  },
};

describe('GET /messages/search and /threads/search', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;

  const query = <R extends object>(text: string, ...values: unknown[]) =>
    server.app.get(Database).query<R>(text, values);
  const get = (path: string, by = ada) => request(server.url).get(path).set(by.bearer);

  async function deliver(account: TestAccount, key: string, seed: Seed): Promise<void> {
    const connected = await server.app.get(ProviderAccounts).find(account.id);
    if (!connected) throw new Error('no such account');
    const text = ['Content-Type: text/html; charset=utf-8', '', seed.text ?? '<p>Hello</p>'];
    const content = seed.file
      ? [
          'Content-Type: multipart/mixed; boundary=b',
          '',
          '--b',
          ...text,
          '--b',
          `Content-Type: application/pdf; name="${seed.file}"`,
          `Content-Disposition: attachment; filename="${seed.file}"`,
          '',
          'x',
          '--b--',
        ]
      : text;
    const messageIdHeader = `<${key}@seed.test>`;
    const lines = [
      `Message-ID: ${messageIdHeader}`,
      `Subject: =?utf-8?B?${Buffer.from(seed.subject).toString('base64')}?=`,
      `From: ${seed.from ?? 'Somebody <somebody@elsewhere.test>'}`,
      `To: ${seed.to ?? account.email}`,
      ...(seed.cc ? [`Cc: ${seed.cc}`] : []),
      ...(seed.references ? [`References: <${seed.references}@seed.test>`] : []),
      ...content,
    ];
    const mime = Buffer.from(lines.join('\r\n'));
    const envelope = { from: 'somebody@elsewhere.test', recipients: [account.email] };
    await server.app
      .get(ConnectorRegistry)
      .requireMail('sandbox')
      .send(
        { ...connected, email: 'somebody@elsewhere.test' },
        { messageIdHeader, mime, envelope, bcc: [] },
        sendControl(),
      );
  }

  /** Creates a mirrored account with these messages, one day apart, the first on 2026-01-01. */
  async function mailbox(
    seeds: Readonly<Record<string, Seed>>,
    overrides = {},
  ): Promise<TestAccount> {
    const account = await createAccount(server.app, application, overrides);
    for (const [key, seed] of Object.entries(seeds)) await deliver(account, key, seed);
    await syncAccount(server.app, server.app.get(MailboxSyncDispatcher), account.id);
    for (const [day, key] of Object.keys(seeds).entries()) {
      await query(
        `with m as (update message set date = $3 where account_id = $1 and message_id_header = $2 returning id),
         mf as (update message_folder set date = $3 where message_id in (select id from m))
         update search_document s set date = $3 from m where s.account_id = $1 and m.id = s.message_id`,
        account.id,
        `<${key}@seed.test>`,
        new Date(Date.UTC(2026, 0, 1 + day, 12)),
      );
    }
    return account;
  }

  /** Stores the texts that the account's messages had when every tag separated words. */
  async function storeOldTexts(account: TestAccount): Promise<void> {
    const stored = await query<Searchable & { id: string }>(
      `select id, subject, '[]'::jsonb as "from", '[]'::jsonb as "to", '[]'::jsonb as cc, '[]'::jsonb as bcc,
         '[]'::jsonb as files
       from message where account_id = $1`,
      account.id,
    );
    const bodies = await readBodies(server.app.get(Database), account.id, idsOf(stored));
    const messages = stored.map((message) => ({
      ...message,
      body: bodies.get(message.id)?.replaceAll(/<[^>]*>/g, ' ') ?? '',
    }));
    await server.app.get(Database).transaction((sql) => storeDocuments(sql, account.id, messages));
    const ids = messages.map(({ id }) => id);
    const snippets = messages.map(({ body }) => body.replaceAll(/\s+/g, ' ').trim());
    await query(
      `with x as (select * from unnest($1::uuid[], $2::text[]) x(id, snippet)),
       m as (update message m set snippet = x.snippet from x where m.id = x.id returning m.thread_id, x.snippet)
       update thread_summary s set snippet = m.snippet from m where s.thread_id = m.thread_id`,
      ids,
      snippets,
    );
  }

  /** The keys of the found messages, best match first. */
  async function find(q: string, by = ada, more: Record<string, unknown> = {}): Promise<string[]> {
    const response = await get('/messages/search', by).query({ q, view: 'expanded', ...more });
    expect({ q, status: response.status, message: response.body.message }).toEqual({
      q,
      status: 200,
    });
    const found = response.body as { headers: Record<string, string>; subject: string }[];
    return found.map(
      ({ headers, subject }) => /<(.*)@seed/.exec(headers['Message-Id'] ?? '')?.[1] ?? subject,
    );
  }

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    application = await createApplication(server.app);
    ada = await mailbox(SEEDS);
  });
  afterAll(() => server.close());

  it('returns messages in the same form as the list does', async () => {
    const [listed] = (await get('/messages').query({ in: 'inbox', subject: 'Weather' })).body;
    const { body } = await get('/messages/search').query({ q: 'weather' });
    expect(body).toEqual([listed]);
    expect(body[0]).not.toHaveProperty('headers');
  });

  it.each([
    [''],
    ['?q='],
    ['?q=%20%20'],
    ['?q=a&q='],
    ['?q[x]=a'],
    [`?q=${'x'.repeat(1_001)}`],
    ['?q=a&limit=x'],
    ['?q=a&limit=1001'],
    ['?q=a&offset=-1'],
    ['?q=a&view=ids'],
  ])('refuses %s', async (parameters) => {
    const { status, body } = await get(`/messages/search${parameters}`);
    expect({ status, type: body.type }).toEqual({ status: 400, type: 'invalid_request_error' });
  });

  it('finds only messages of the account, and needs a scope for reading', async () => {
    const other = await mailbox({ theirs: { subject: 'Their zeppelin' } });
    expect(await find('zeppelin', other)).toEqual(['theirs']);
    expect(await find('their', other)).toEqual(['theirs']);
    expect(await find('their')).toEqual([]);
    const calendar = await createAccount(server.app, application, { scope: ['calendar'] });
    expect((await get('/messages/search?q=a', calendar)).status).toBe(403);
    expect((await request(server.url).get('/messages/search?q=a')).status).toBe(401);
  });

  it.each([
    ['zeppelin late', ['answer']],
    ['ZEPPELIN', ['answer', 'plans', 'mention']],
    ['zepp', ['answer', 'plans', 'mention']],
    ['zepp ', []],
    ['zepp* late', ['answer']],
    ['creme', ['plans']],
    ['cr\u00e8me', ['plans']],
    ['br\u00fbl\u00e9e', ['plans', 'mention']],
    ['donnerstag', ['plans']],
    ['strasse', ['plans']],
    ['STRASSE', ['plans']],
    ['secretive', []],
    ['known', ['answer']],
    ['well-known', ['answer']],
    ['"well known"', ['answer']],
    ['"known reasons"', ['answer']],
    ['"reasons known"', []],
    ['"zeppelin is late', ['answer']],
    ['\u{1f389}', []],
    ['\u4f1a\u8bae\u5ba4', ['chinese']],
    ['\u9884\u7b97', ['chinese']],
    ['\u6771\u4eac', ['japanese']],
    ['\u4f1a\u8b70', ['japanese']],
    ['\u0e1b\u0e23\u0e30\u0e0a\u0e38\u0e21', ['thai']],
    ['bo.tanaka@mail.example.test', ['plans']],
    ['example.test', ['plans']],
    ['mail.example.test', ['plans']],
    ['@example.test', ['plans']],
    ['tanaka', ['plans']],
    ['Bo Tanaka', ['plans']],
    ['from:bo', ['plans']],
    ['from:example.test', ['plans']],
    ['from:"Bo Tanaka"', ['plans']],
    ['from:"Tanaka Bo"', []],
    ['from:dee', []],
    ['cc:dee', ['mention']],
    ['cc:other.test', ['mention']],
    ['bcc:dee', []],
    ['subject:zeppelin', ['answer', 'plans']],
    ['subject:"the zeppelin"', ['answer', 'plans']],
    ['subject:(zeppelin)', ['answer', 'plans']],
    ['zeppelin -subject:zeppelin', ['mention']],
    ['zeppelin -late -seen', ['plans']],
    ['zeppelin -from:elsewhere.test', ['plans']],
    ['zeppelin -"is late"', ['plans', 'mention']],
    ['late OR seen', ['answer', 'mention']],
    ['zeppelin late OR from:cleo', ['answer', 'mention']],
    ['late OR has:attachment', ['answer', 'plans']],
    ['has:attachment', ['plans']],
    ['-has:attachment zeppelin', ['answer', 'mention']],
    ['filename:budget', ['plans']],
    ['filename:budget_v2.final.pdf', ['plans']],
    ['filename:pdf', ['plans']],
    ['budget', ['plans']],
    ['before:2026-01-02', ['plans']],
    ['before:2026/1/2', ['plans']],
    ['after:2026-01-02 zeppelin', ['mention', 'answer']],
    ['after:2026-01-02 before:2026-01-03', ['answer']],
    ['newer:2026-01-06', ['thai']],
    ['zeppelin older:1767312000', ['plans']],
    ['older_than:9999d', []],
    ['in:inbox zeppelin late', ['answer']],
    ['in:nowhere', []],
    ['-in:inbox', []],
    ['in:trash zeppelin', []],
    ['in:anywhere late', ['answer']],
    ['is:starred', []],
    ['is:read', []],
    ['is:unread late', ['answer']],
    ['-is:unread', []],
    ['nothing:known late', []],
    ['is:late', ['answer']],
    ['-zeppelin -from:somebody', []],
    ['-from:somebody', ['mention', 'answer', 'plans']],
    ['zeppelin) | (& !', ['answer', 'plans', 'mention']],
    ["o'clock", []],
    ["a\\'b:*<->'", []],
  ])('returns the right messages for %s', async (q, keys) => {
    const found = await find(q);
    expect(found.toSorted()).toEqual([...keys].toSorted());
  });

  it('ranks subjects before texts, and returns pages without gaps', async () => {
    const all = await find('zeppelin');
    expect(all.at(-1)).toBe('mention');
    const pages = [
      await find('zeppelin', ada, { limit: 2 }),
      await find('zeppelin', ada, { limit: 2, offset: 2 }),
    ];
    expect(pages.flat()).toEqual(all);
    expect(await find('zeppelin', ada, { offset: 99 })).toEqual([]);
    expect(await find('zeppelin', ada, { limit: 0 })).toEqual([]);
  });

  it('takes text on both sides of an inline tag for one word, and separates blocks, lines and cells', async () => {
    const account = await mailbox({
      tags: {
        subject: 'Tags',
        text: '<table><tr><td>Dri<b>zz</b>le<td>fo<wbr>g</td></tr></table>sl<span>eet</span><br>gale<a href="x">s</a>',
      },
    });
    expect(await find('drizzle fog sleet gales ', account)).toEqual(['tags']);
    for (const part of ['zz', 'sl ', 'eet', 'sleetgales', 'drizzlefog'])
      expect(await find(part, account)).toEqual([]);
    const [message] = (await get('/messages', account)).body as { snippet: string }[];
    expect(message?.snippet).toBe('Drizzle fog sleet gales');
  });

  it('returns each matching thread once, in the same form as the list does', async () => {
    const threads = async (q: string, more: Record<string, unknown> = {}) =>
      (
        await get('/threads/search')
          .query({ q, ...more })
          .expect(200)
      ).body as { id: string; subject: string }[];
    const found = await threads('zeppelin');
    expect(found.map(({ subject }) => subject)).toEqual(['Plans for the zeppelin', 'Weather']);
    expect(found).toEqual(
      await Promise.all(found.map(async ({ id }) => (await get(`/threads/${id}`)).body as unknown)),
    );
    expect(await threads('zeppelin', { limit: 1, offset: 1 })).toEqual(found.slice(1));
    const [expanded] = await threads('late', { view: 'expanded' });
    expect(expanded).toMatchObject({
      messages: [{ subject: 'Plans for the zeppelin' }, { unread: true }],
    });
    for (const parameters of ['', '?q=', '?q=a&view=count'])
      expect((await get(`/threads/search${parameters}`)).status).toBe(400);
  });

  it('finds messages with more distinct words than the index can hold', async () => {
    // Ethiopic letters take three bytes each. Every word here is different and consists of twenty
    // pieces.
    const piece = (number: number) =>
      [number % 70, Math.floor(number / 70) % 70, number % 67]
        .map((at) => String.fromCharCode(0x1200 + at))
        .join('');
    const word = (number: number) =>
      Array.from({ length: 20 }, (_, index) => piece(number * 20 + index)).join('.');
    const words = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) => word(from + at)).join(' ');
    const subject = `Lexicon ${words(400, 470)}`;
    const account = await mailbox({ many: { subject, text: words(0, 400) } });
    expect(await find('lexicon', account)).toEqual(['many']);
    expect(await find(`"${word(9)}"`, account)).toEqual(['many']);
  });

  it('finds drafts only in the drafts folder, by their current text', async () => {
    const account = await mailbox({ old: { subject: 'Nothing' } });
    const draft = {
      subject: 'An ornithopter',
      body: '<p>flaps</p>',
      to: [{ email: 'eve@wings.test' }],
    };
    const created = await request(server.url).post('/drafts').set(account.bearer).send(draft);
    expect(created.status).toBe(200);
    expect(await find('ornithopter', account)).toEqual([]);
    expect(await find('ornithopter in:drafts', account)).toEqual(['An ornithopter']);
    expect(await find('is:draft to:wings.test', account)).toEqual(['An ornithopter']);
    const change = { version: created.body.version, subject: 'A helicopter' };
    await request(server.url).put(`/drafts/${created.body.id}`).set(account.bearer).send(change);
    expect(await find('ornithopter in:drafts', account)).toEqual([]);
    expect(await find('helicopter flaps in:drafts', account)).toEqual(['A helicopter']);
    const path = `/messages/${created.body.id},${created.body.id}`;
    expect((await get(path, account)).status).toBe(200);
    await query('update message set deleting = true where id = $1', created.body.id);
    expect(await find('helicopter in:drafts', account)).toEqual([]);
    expect((await get(path, account)).status).toBe(404);
  });

  it('finds changed messages by their new flags, and does not find deleted messages', async () => {
    const account = await mailbox({ one: { subject: 'A kite' }, two: { subject: 'Another kite' } });
    const [message] = (await get('/messages/search?q=another', account)).body;
    await request(server.url)
      .put(`/messages/${message.id}`)
      .set(account.bearer)
      .send({ unread: false, starred: true });
    expect(await find('kite is:read', account)).toEqual(['two']);
    expect(await find('kite is:starred', account)).toEqual(['two']);
    await query('delete from message where id = $1', message.id);
    expect(await find('kite', account)).toEqual(['one']);
  });

  it('makes messages searchable that were mirrored before the search existed, newest first and once', async () => {
    const account = await mailbox({
      one: { subject: 'A balloon', file: 'helium.txt' },
      two: { subject: 'Another', text: '<p>balloon</p>' },
    });
    await query('delete from search_document where account_id = $1', account.id);
    expect(await find('balloon', account)).toEqual([]);
    await query('insert into text_backlog (account_id) values ($1)', account.id);
    const runner = server.app.get(TextBacklogRunner);
    const stored = await Promise.all([runner.run(), runner.run()]);
    expect(stored.toSorted()).toEqual([0, 2]);
    expect(await find('balloon', account)).toEqual(['one', 'two']);
    expect(await find('filename:helium', account)).toEqual(['one']);
    expect(await query('select 1 from text_backlog where account_id = $1', account.id)).toEqual([]);
  });

  it('replaces texts that an earlier version stored, newest first, in batches that continue after an interruption', async () => {
    const account = await mailbox({
      older: { subject: 'One', text: '<p>He<b>llo</b> there<br>friend</p>' },
      newer: { subject: 'Two', text: '<p>He<i>llo</i> again</p>' },
      same: { subject: 'Three', text: '<p>Nothing split</p>' },
    });
    const { body: file } = await request(server.url)
      .post('/files')
      .set(account.bearer)
      .attach('file', Buffer.from('x'), 'helium.txt');
    const draft = { subject: 'Four', body: 'He<u>llo</u> draft', file_ids: [file[0].id] };
    await request(server.url).post('/drafts').set(account.bearer).send(draft).expect(200);
    await storeOldTexts(account);
    expect(await find('hello', account)).toEqual([]);
    expect((await find('llo', account)).toSorted()).toEqual(['newer', 'older']);

    const runner = server.app.get(TextBacklogRunner);
    await query('insert into text_backlog (account_id) values ($1)', account.id);
    // The draft is the newest message, then "same", then "newer".
    expect(await runner.run(undefined, { batch: 3, batches: 1 })).toBe(3);
    expect(await find('hello', account)).toEqual(['newer']);
    expect(await find('llo', account)).toEqual(['older']);
    expect(await find('filename:helium hello in:drafts', account)).toEqual(['Four']);

    expect(await runner.run()).toBe(1);
    expect((await find('hello', account)).toSorted()).toEqual(['newer', 'older']);
    expect(await find('llo', account)).toEqual([]);
    const shown = ['Hello draft', 'Hello again', 'Hello there friend', 'Nothing split'].toSorted();
    const messages = (await get('/messages', account)).body as { snippet: string }[];
    const drafts = (await get('/drafts', account)).body as { snippet: string }[];
    expect([...messages, ...drafts].map(({ snippet }) => snippet).toSorted()).toEqual(shown);
    const threads = (await get('/threads', account)).body as { snippet: string }[];
    expect(threads.map(({ snippet }) => snippet)).toEqual(
      expect.arrayContaining(['Hello again', 'Hello there friend', 'Nothing split']),
    );
  });

  it('leaves the texts of a draft alone that was changed after it was read for the rebuild', async () => {
    const account = await mailbox({ one: { subject: 'One' } });
    const { body: draft } = await request(server.url)
      .post('/drafts')
      .set(account.bearer)
      .send({ body: 'first' });
    const change = { version: draft.version, body: 'second' };
    await request(server.url).put(`/drafts/${draft.id}`).set(account.bearer).send(change);
    const locked = await server.app
      .get(Database)
      .transaction((sql) =>
        Promise.all(
          [draft.version, draft.version + 1].map((version) =>
            lockVersions(sql, account.id, [{ id: draft.id, version }]),
          ),
        ),
      );
    expect(locked).toEqual([new Set(), new Set([draft.id])]);
  });

  it('never answers 500, whatever the query', async () => {
    for (const q of ['newer_than:9999y', 'older_than:9999y', 'before:0001', 'after:9999'])
      expect({ q, status: (await get('/messages/search').query({ q })).status }).toEqual({
        q,
        status: 200,
      });
    const pieces = [
      '"',
      "'",
      '\\',
      ':*',
      '-',
      '(',
      ')',
      'OR',
      'from:',
      'in:',
      '<->',
      '\u0000',
      '\ud800',
      '%',
      'é',
      '会议',
      'a',
      '*',
      '!',
      '&',
      '|',
      ' ',
      'is:',
      'before:',
      '\u0301',
      '\ufdfa',
      '\u200d',
      randomUUID(),
    ];
    for (let number = 0; number < 60; number += 1) {
      const q = Array.from(
        { length: 1 + (number % 9) },
        () => pieces[Math.floor(Math.random() * pieces.length)],
      ).join('');
      const { status, body } = await get('/messages/search').query({ q });
      expect({ q, status: [200, 400].includes(status), body: status === 500 ? body : '' }).toEqual({
        q,
        status: true,
        body: '',
      });
    }
  });
});
