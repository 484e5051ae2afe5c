import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { OutboxIntake } from '../../src/mail/outbox/accept/outbox-intake.ts';
import {
  type NewOutboxMessage,
  OutboxRepository,
} from '../../src/mail/outbox/outbox.repository.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describe('the intake of messages', () => {
  let server: TestApp;
  let database: Database;
  let account: TestAccount;
  let intake: OutboxIntake;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
  });
  beforeEach(async () => {
    account = await createAccount(server.app, await createApplication(server.app));
    intake = new OutboxIntake(new OutboxRepository(database));
  });
  afterAll(() => server.close());

  const message = (mime: Buffer, changes: Partial<NewOutboxMessage> = {}): NewOutboxMessage => {
    const at = new Date();
    const id = newId();
    return {
      id,
      accountId: account.id,
      messageIdHeader: `<${id}@example.test>`,
      messageId: newId(),
      threadId: newId(),
      at,
      sendAt: new Date(at.getTime() + 3_600_000),
      retryLimitAt: new Date(at.getTime() + 7_200_000),
      onMissed: 'skip',
      maxLatenessSeconds: 7,
      onUnknown: null,
      content: {
        from: [{ email: 'ada@example.test', name: 'Ada' }],
        to: [{ email: 'bo@example.test', name: `"O'Bö\\, \n` }],
        cc: [],
        bcc: [],
        reply_to: [],
        subject: mime.toString('hex'),
        body: '',
      },
      envelope: { from: 'ada@example.test', recipients: ['bo@example.test'] },
      mime,
      ...changes,
    };
  };
  const stored = () =>
    database.query<{
      id: string;
      mime: Buffer;
      subject: string;
      transaction: string;
      due: boolean;
    }>(
      `select m.id, m.mime, m.content->>'subject' as subject, m.xmin::text as transaction, j.due_at = s.send_at as due
       from outbox_message m join job_status s using (id) join send_job j using (id)
       where m.account_id = $1 order by m.id`,
      [account.id],
    );

  it('stores simultaneous messages in one statement, each with its own content', async () => {
    const messages = Array.from({ length: 150 }, (_, index) =>
      message(Buffer.alloc(index * 7, index)),
    );
    await Promise.all(messages.map((one) => intake.accept(one)));
    const rows = await stored();
    expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(messages.map(({ id }) => id)));
    expect(
      rows.filter(({ mime, subject, due }) => !due || mime.toString('hex') !== subject),
    ).toEqual([]);
    expect(new Set(rows.map(({ transaction }) => transaction)).size).toBeLessThan(
      messages.length / 10,
    );
  });

  it('stores long messages in statements of bounded size', async () => {
    const long = Buffer.alloc(1.5 * 1024 * 1024, 65);
    const messages = Array.from({ length: 6 }, () => message(Buffer.alloc(0), { mime: long }));
    await Promise.all(messages.map((one) => intake.accept(one)));
    const rows = await stored();
    expect(rows).toHaveLength(6);
    expect(new Set(rows.map(({ transaction }) => transaction)).size).toBeGreaterThanOrEqual(3);
  });

  it('fails for a message that cannot be stored, and for no other', async () => {
    const strangers = new Set([0, 13, 14, 40]);
    const results = await Promise.allSettled(
      Array.from({ length: 60 }, (_, index) =>
        intake.accept(
          message(Buffer.from([index]), strangers.has(index) ? { accountId: newId() } : {}),
        ),
      ),
    );
    const failed = results.flatMap((result, index) =>
      result.status === 'rejected' ? [index] : [],
    );
    expect(new Set(failed)).toEqual(strangers);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: '23503' });
    }
    expect(await stored()).toHaveLength(56);
    await intake.accept(message(Buffer.from('and goes on')));
  });

  it('delays only messages of the account that is being removed', async () => {
    const others = await createAccount(server.app, await createApplication(server.app));
    const settled: string[] = [];
    let removed: Promise<unknown> = Promise.resolve();
    await database.transaction(async (removal) => {
      await removal.query('select from "grant" where id = $1 for update', [account.id]);
      removed = Promise.allSettled(
        Array.from({ length: 3 }, () =>
          intake.accept(message(Buffer.from('x'))).finally(() => settled.push('removed')),
        ),
      );
      await Promise.all(
        Array.from({ length: 30 }, () =>
          intake.accept(message(Buffer.from('x'), { accountId: others.id })),
        ),
      );
      expect(settled).toEqual([]);
      await removal.query('delete from access_token where grant_id = $1', [account.id]);
      await removal.query('delete from "grant" where id = $1', [account.id]);
    });
    const refusal = { status: 'rejected', reason: expect.objectContaining({ code: '23503' }) };
    expect(await removed).toEqual([refusal, refusal, refusal]);
  });

  it('fails all messages at once while the database is unavailable, and continues afterwards', async () => {
    const { url } = server.database;
    const elsewhere = new Database({
      url: url.replace(/:\d+\//, ':1/'),
      max: 2,
      statementTimeoutMs: 1000,
      applicationName: 'away',
    });
    const away = new OutboxIntake(new OutboxRepository(elsewhere));
    const results = await Promise.allSettled(
      Array.from({ length: 250 }, () => away.accept(message(Buffer.from('x')))),
    );
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    await elsewhere.close();
    await intake.accept(message(Buffer.from('x')));
    expect(await stored()).toHaveLength(1);
  });
});
