import request from 'supertest';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector, MailboxPort, MailPort } from '../../src/providers/port/connector.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { HeadersConnector } from '../support/headers-connector.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

interface SeenMessage {
  id: string;
  thread_id: string;
  subject: string;
  bcc: { email: string }[];
  folders: { name: string }[];
}

/** Like Microsoft: the recipients are in the message, and sent messages get another Message-ID. */
describe('an account whose provider takes the recipients from the message', () => {
  let server: TestApp;
  let application: TestApplication;
  let provider: HeadersConnector;
  let ada: TestAccount;
  let bo: TestAccount;
  let cy: TestAccount;

  beforeAll(async () => {
    server = await startTestApp();
    const registry = server.app.get(ConnectorRegistry);
    const sandbox = registry.require('sandbox') as Connector & {
      mail: MailPort;
      mailbox: MailboxPort;
    };
    provider = new HeadersConnector(sandbox, { changesMessageIds: true });
    registry.replace(provider.connector);
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    [ada, bo, cy] = (await Promise.all(
      ['Ada', 'Bo', 'Cy'].map(() => createAccount(server.app, application, { mirrored: true })),
    )) as [TestAccount, TestAccount, TestAccount];
    provider.sent.length = provider.drafts.length = 0;
    provider.beforeAnswer = () => Promise.resolve();
  });
  afterAll(() => server.close());

  const get = async (account: TestAccount, path: string) =>
    (await request(server.url).get(path).set(account.bearer)).body;
  const messages = async (account: TestAccount, subject: string): Promise<SeenMessage[]> =>
    get(account, `/messages?subject=${encodeURIComponent(subject)}`);
  const arrived = (account: TestAccount, subject: string) =>
    until('the message', async () => (await messages(account, subject))[0]);
  const accept = async (body: object): Promise<string> => {
    const response = await request(server.url).post('/v2/outbox').set(ada.bearer).send(body);
    expect([response.status, response.body.message]).toEqual([202, undefined]);
    return response.body.job_status_id;
  };
  const ended = (id: string) =>
    until('the job to end', async () => {
      const job = await get(ada, `/job-statuses/${id}?view=expanded`);
      return ['successful', 'failed'].includes(job.status) && job;
    });

  it('delivers to everyone, shows Bcc to nobody but the sender, and keeps the ids of the job', async () => {
    const body = { to: [{ email: bo.email }], bcc: [{ email: cy.email }], subject: 'Secret' };
    const job = await ended(await accept(body));
    expect(job).toMatchObject({ status: 'successful', recipients: { refused: [] } });
    for (const account of [bo, cy]) {
      const { id } = await arrived(account, 'Secret');
      const raw = await request(server.url)
        .get(`/messages/${id}`)
        .set(account.bearer)
        .set('accept', 'message/rfc822')
        .buffer(true)
        .parse((response, done) => {
          let text = '';
          response.on('data', (chunk: Buffer) => (text += chunk.toString()));
          response.on('end', () => done(null, text));
        });
      expect(raw.body).toContain('Subject: Secret');
      expect(raw.body).not.toContain(cy.email);
      expect(raw.body).toContain('@changed.test>');
    }
    await arrived(ada, 'Secret');
    const copy = await get(ada, `/messages/${job.message_id}`);
    expect(copy).toMatchObject({
      id: job.message_id,
      thread_id: job.thread_id,
      bcc: [{ email: cy.email }],
    });
    expect(await messages(ada, 'Secret')).toHaveLength(1);
  });

  it('keeps the ids of POST /send', async () => {
    const { body: sent } = await request(server.url)
      .post('/send')
      .set(ada.bearer)
      .send({ to: [{ email: bo.email }], subject: 'At once' });
    const copy = await arrived(ada, 'At once');
    expect(copy).toMatchObject({ id: sent.id, thread_id: sent.thread_id });
    await until('the Message-ID of the copy', async () => {
      const { headers } = await get(ada, `/messages/${sent.id}?view=expanded`);
      return String(headers['Message-Id']).endsWith('@changed.test>');
    });
    expect(await messages(ada, 'At once')).toHaveLength(1);
  });

  it('leads to the copy of the sender although a sync pass stored it before the response arrived', async () => {
    provider.beforeAnswer = async () => void (await arrived(ada, 'Early'));
    const job = await ended(await accept({ to: [{ email: bo.email }], subject: 'Early' }));
    const [copy] = await messages(ada, 'Early');
    expect(copy).toMatchObject({ id: job.message_id, thread_id: job.thread_id });
    expect(await messages(ada, 'Early')).toHaveLength(1);
  });

  it('refuses the message as a whole if one recipient is refused', async () => {
    const to = [{ email: bo.email }, { email: 'partial@sandbox.test' }];
    const job = await ended(await accept({ to, subject: 'All or none' }));
    expect(job).toMatchObject({ status: 'failed' });
    expect(await messages(bo, 'All or none')).toEqual([]);
  });

  it('gets the thread of the conversation with replies and their drafts, and none with a new message', async () => {
    const first = await ended(await accept({ to: [{ email: bo.email }], subject: 'Plans' }));
    await arrived(ada, 'Plans');
    const reply = { to: [{ email: bo.email }], reply_to_message_id: first.message_id };
    await ended(await accept(reply));
    await request(server.url)
      .post('/send')
      .set(ada.bearer)
      .send({ ...reply, subject: 'Re: Plans' })
      .expect(200);
    expect(provider.sent.map(({ threadId }) => threadId)).toEqual([
      null,
      'thread of Plans',
      'thread of Plans',
    ]);
    await request(server.url).post('/drafts').set(ada.bearer).send(reply).expect(200);
    await request(server.url).post('/drafts').set(ada.bearer).send({ subject: 'New' }).expect(200);
    await until('both drafts to be stored', () => Promise.resolve(provider.drafts.length === 2));
    expect(new Set(provider.drafts.map(({ threadId }) => threadId))).toEqual(
      new Set(['thread of Plans', null]),
    );
  });
});
