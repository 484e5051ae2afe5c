import request from 'supertest';
import { scheduleChangedSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { ListedContents } from '../../src/mail/listed-contents/listed-contents.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { RequestedContents } from '../../src/sync/messages/requested-contents.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { GoogleStub } from '../support/google/google-stub.ts';
import { scope } from '../support/google/scopes.ts';
import { mime } from '../support/google/stub-client.ts';
import type { StubRequest } from '../support/remote-stub/messages.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const MAIL = ['openid', 'email', 'profile', scope('gmail.modify')];
const HOUR_MS = 3_600_000;

interface Shown {
  id: string;
  body: string;
  headers: Record<string, string>;
  files: { id: string; filename: string }[];
}

/** A message composed anew: its files in another order, and one more before them. */
function composedAnew(raw: Buffer): Buffer {
  const text = raw.toString();
  const line = `--${/boundary="?([^";\r\n]+)/.exec(text)?.[1]}`;
  const [head, body, ...files] = text.split(line);
  const end = files.pop();
  const footer =
    '\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=footer.txt\r\n\r\nFooter\r\n';
  return Buffer.from([head, body, footer, ...files.toReversed(), end].join(line));
}

/** The whole server, which polls mailboxes once an hour only and audits none. */
describe('a Google account that sends', () => {
  let stub: GoogleStub;
  let server: TestApp;
  let application: TestApplication;
  let people = 0;

  beforeAll(async () => {
    stub = await GoogleStub.start();
    const quiet = { SYNC_POLL_SECONDS: '3600', SYNC_AUDIT_SECONDS: '0' };
    server = await startTestApp({ GOOGLE_URL: stub.origin, ...quiet });
    application = await createApplication(server.app);
    const { id: client_id, secret: client_secret } = stub.oauth.client;
    await request(server.url)
      .post('/connect/integrations')
      .set(application.basic)
      .send({
        name: 'Google',
        provider: 'google',
        settings: { client_id, client_secret },
        redirect_uris: ['https://app.example.test/callback'],
      })
      .expect(200);
  });
  afterAll(async () => {
    await server.close();
    await stub.stop();
    expectDocumented(stub);
  });

  /** An account whose first sync pass has ended. */
  const connect = async () => {
    people += 1;
    const email = `sender${people}@gmail.test`;
    stub.addUser(email, `Sender ${people}`);
    stub.deliver(mime({ From: 'bo@x.test', To: email, Subject: 'Plan' }), [email]);
    const settings = { google_refresh_token: stub.oauth.refreshTokenFor(email, MAIL) };
    const { body } = await request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .send({ provider: 'google', settings })
      .expect(200);
    const bearer = { authorization: `Bearer ${body.data.access_token}` };
    const api = (method: 'get' | 'post', path: string) =>
      request(server.url)[method](path).set(bearer);
    const list = async (query: string) => {
      const answer = await api('get', `/messages${query}`).expect(200);
      return answer.body as { id: string; thread_id: string }[];
    };
    await until('the mailbox', async () => {
      const { body: account } = await api('get', '/account');
      return account.sync_state === 'running' && (await list('')).length === 1;
    });
    const user = stub.world.users.get(email)!;
    return { email, api, list, user };
  };
  const rawSubjects = (one: Awaited<ReturnType<typeof connect>>) =>
    one.user.mailbox
      .messages()
      .map(({ raw }) => /^Subject: (.*?)\r?$/m.exec(String(raw))?.[1] ?? '');

  it('sees each sent message at once, and once only, without waiting for the next poll', async () => {
    const one = await connect();
    const [question] = await one.list('');
    const reply = await one.api('post', '/send').send({
      to: [{ email: 'bo@elsewhere.test' }],
      subject: 'Re: Plan',
      body: 'Yes',
      reply_to_message_id: question?.id,
    });
    expect(reply.status).toBe(200);
    await until('the reply', async () => (await one.list('')).length === 2);
    const queued = await one.api('post', '/v2/outbox').send({
      to: [{ email: 'bo@elsewhere.test' }],
      subject: 'Queued',
      body: 'Later',
    });
    expect(queued.status).toBe(202);
    await until('the queued message', async () => (await one.list('')).length === 3);
    const sent = await one.list('?subject=Re: Plan');
    expect(sent).toMatchObject([{ id: reply.body.id, thread_id: question?.thread_id }]);
    expect(rawSubjects(one).toSorted()).toEqual(['Plan', 'Queued', 'Re: Plan']);
  });

  it.each([
    ['POST /send', '/send', 200],
    ['the outbox', '/v2/outbox', 202],
  ] as const)(
    'sends a message once by %s if the response of Gmail is lost and Gmail has replaced its Message-ID',
    async (_, path, status) => {
      stub.habits.messageIds = 'replaced';
      const one = await connect();
      const match = ({ path: asked }: StubRequest) => asked.endsWith('/messages/send');
      stub.faults.add({ match, answer: 'drop-after-done' });
      const message = { to: [{ email: 'bo@elsewhere.test' }], subject: 'Lost', body: 'Text' };
      const answer = await one.api('post', path).send(message);
      expect(answer.status).toBe(status);
      await until(
        'the message to be found',
        async () => {
          if (status === 200) return true;
          const job = await one.api('get', `/job-statuses/${answer.body.job_status_id}`);
          return job.body.status === 'successful';
        },
        60_000,
      );
      expect(rawSubjects(one).toSorted()).toEqual(['Lost', 'Plan']);
      expect(stub.requestsOf(/messages\/send$/).filter(({ isFault }) => isFault)).toHaveLength(1);
      stub.habits.messageIds = 'kept';
      stub.requests.length = 0;
    },
  );

  describe('with files', () => {
    beforeEach(() => {
      stub.habits.messageIds = 'replaced';
    });
    afterEach(() => {
      stub.habits.messageIds = 'kept';
      stub.habits.historyLagMs = 0;
      server.app.get(ListedContents).use(server.app.get(RequestedContents));
    });

    /** An account that has sent a message with two files. No sync pass has seen the copy. */
    async function sentWithFiles() {
      const one = await connect();
      stub.habits.historyLagMs = HOUR_MS;
      const file_ids: string[] = [];
      for (const filename of ['a.txt', 'b.txt']) {
        const uploaded = await one
          .api('post', '/files')
          .attach('file', Buffer.from(`text of ${filename}`), { filename });
        file_ids.push(uploaded.body[0].id);
      }
      const to = [{ email: 'bo@elsewhere.test' }];
      const tracking = { opens: true };
      const message = { to, subject: 'Files', body: '<p>See</p>', file_ids, tracking };
      const sent = await one.api('post', '/send').send(message).expect(200);
      const path = `/messages/${sent.body.id}`;
      const read = async () =>
        (await one.api('get', `${path}?view=expanded`).expect(200)).body as Shown;
      const text = async () =>
        (await one.api('get', path).set('accept', 'message/rfc822').expect(200)).text;
      const download = async (id: string | undefined) =>
        (await one.api('get', `/files/${id}/download`).expect(200)).text;
      /** Lets a sync pass find the copy, and waits until it has. */
      const joined = async () => {
        const { body: account } = await one.api('get', '/account');
        stub.habits.historyLagMs = 0;
        await scheduleChangedSync(server.app.get(Database), [account.id]);
        return until('the copy', async () => {
          const shown = await read();
          return shown.headers['Message-Id']?.includes('@mail.gmail.com') && shown;
        });
      };
      const [copy] = one.user.mailbox.messages();
      if (!copy) throw new Error('nothing was sent');
      return { ...one, read, text, download, joined, copy };
    }
    type Sent = Awaited<ReturnType<typeof sentWithFiles>>;

    it('keeps the ids of the files when the copy has another Message-ID and other positions of the files', async () => {
      const one = await sentWithFiles();
      const [a, b] = (await one.read()).files;
      const { body: start } = await one.api('post', '/delta/latest_cursor');
      one.copy.raw = composedAnew(one.copy.raw);
      const { files, body: text } = await one.joined();
      expect(files).toMatchObject([{ filename: 'footer.txt' }, { id: b?.id }, { id: a?.id }]);
      // A sender who opens the copy is no reader.
      expect(String(one.copy.raw)).toContain('/t/o?i');
      expect(text).toContain('<p>See</p>');
      expect(text).not.toContain('/t/o?i');
      expect(await one.download(a?.id)).toBe('text of a.txt');
      expect(await one.download(b?.id)).toBe('text of b.txt');
      expect(await one.download(files[0]?.id)).toContain('Footer');
      const { body } = await one.api('get', `/delta?cursor=${start.cursor}`);
      const changed = (body.deltas as { object: string; event: string; id: string }[])
        .filter(({ object }) => object === 'file')
        .map(({ event, id }) => [event, id]);
      expect(changed).toEqual([['create', files[0]?.id]]);
    });

    it.each([
      [
        'a file',
        async ({ read, download }: Sent) => download((await read()).files[0]?.id),
        'text of a.txt',
      ],
      ['the text', ({ text }: Sent) => text(), 'Subject: Files'],
    ])('returns %s to a request during which the copy arrives', async (_, request, expected) => {
      const one = await sentWithFiles();
      const contents = server.app.get(RequestedContents);
      server.app.get(ListedContents).use({
        complete: (...given) => contents.complete(...given),
        keep: (...given) => contents.keep(...given),
        unreported: async (...given) => {
          await one.joined();
          return contents.unreported(...given);
        },
      });
      expect(await request(one)).toContain(expected);
    });
  });

  it.each([
    ['as long as Google says', { 'retry-after': '2' }, 2],
    ['for 5 seconds if Google does not say how long', {}, 5],
  ])('asks Google nothing %s, and then sends what waited', async (_, headers, seconds) => {
    const one = await connect();
    const [question] = await one.list('');
    const error = {
      code: 429,
      message: 'Too many requests',
      errors: [
        { message: 'Too many requests', domain: 'usageLimits', reason: 'rateLimitExceeded' },
      ],
    };
    const match = ({ path }: StubRequest) => path.endsWith('/messages/send');
    stub.faults.add({ match, answer: { status: 429, headers, body: { error } } });
    const message = { to: [{ email: 'bo@elsewhere.test' }], body: 'Text' };
    const refused = await one.api('post', '/send').send({ ...message, subject: 'Refused' });
    expect([refused.status, refused.body.type]).toEqual([429, 'api_error']);
    const early = await one.api('post', '/send').send({ ...message, subject: 'Early' });
    expect(early.status).toBe(429);
    expect(Number(early.headers['retry-after'])).toBeGreaterThan(0);
    const raw = await one.api('get', `/messages/${question?.id}`).set('accept', 'message/rfc822');
    expect([raw.status, Number(raw.headers['retry-after']) > 0]).toEqual([429, true]);
    const queued = await one.api('post', '/v2/outbox').send({ ...message, subject: 'Queued' });
    await until('the queued message', async () => {
      const { body: job } = await one.api('get', `/job-statuses/${queued.body.job_status_id}`);
      return job.status === 'successful';
    });
    expect(rawSubjects(one).toSorted()).toEqual(['Plan', 'Queued']);
    const [fault] = stub.requests.filter(({ isFault }) => isFault).slice(-1);
    if (!fault) throw new Error('the fault was not taken');
    const { authorization } = fault.headers;
    const after = stub.requests.filter(
      (later) => later.headers.authorization === authorization && later.at > fault.at,
    );
    expect(after[0]?.at).toBeGreaterThanOrEqual(fault.at + seconds * 1000);
  });
});
