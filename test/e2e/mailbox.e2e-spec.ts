import request from 'supertest';
import { registerSandbox } from '../support/connect.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

interface Connected {
  id: string;
  bearer: Record<string, string>;
}
interface Message {
  id: string;
  thread_id: string;
  subject: string;
  folder: { name: string };
}

describe('a mailbox, from connection to reply', () => {
  let server: TestApp;
  let application: TestApplication;
  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    await registerSandbox(server, application);
  });
  afterAll(() => server.close());

  async function connect(email: string, settings: object = {}): Promise<Connected> {
    const response = await request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .send({ provider: 'sandbox', settings: { email, ...settings } });
    expect(response.status).toBe(200);
    const { id, access_token: token } = response.body.data;
    return { id, bearer: { authorization: `Bearer ${token}` } };
  }
  const messages = async (account: Connected, parameters: object = {}): Promise<Message[]> =>
    (await request(server.url).get('/messages').set(account.bearer).query(parameters)).body;
  async function send(account: Connected, body: object): Promise<string> {
    const response = await request(server.url).post('/v2/outbox').set(account.bearer).send(body);
    expect(response.status).toBe(202);
    return response.body.job_status_id;
  }

  it('has sample messages and a primary calendar soon after it is connected', async () => {
    const ada = await connect('ada@sandbox.test');
    await until('the samples', async () => (await messages(ada)).length === 3);
    const calendars = await until('the calendar', async () => {
      const { body } = await request(server.url).get('/calendars').set(ada.bearer);
      return body.length > 0 && (body as object[]);
    });
    expect(calendars).toMatchObject([
      { name: 'ada@sandbox.test', is_primary: true, read_only: false },
    ]);
  });

  it('starts empty if the settings ask for no sample messages', async () => {
    const quiet = await connect('quiet@sandbox.test', { sample_messages: false });
    const calendars = () => request(server.url).get('/calendars').set(quiet.bearer);
    await until('the first sync pass', async () => (await calendars()).body.length === 1);
    expect(await messages(quiet)).toEqual([]);
  });

  it('shows sent messages with the ids that their jobs report, shows received messages, and keeps the thread', async () => {
    const [bo, cy] = [
      await connect('bo@sandbox.test', { sample_messages: false }),
      await connect('cy@sandbox.test', { sample_messages: false }),
    ];
    const job = await send(bo, {
      to: [{ email: 'cy@sandbox.test' }],
      subject: 'Lunch?',
      body: '<p>At noon</p>',
    });
    const [arrived] = await until('the message to arrive', async () => {
      const found = await messages(cy, { in: 'inbox' });
      return found.length > 0 && found;
    });
    const [sent] = await until('the Sent copy', async () => {
      const found = await messages(bo, { in: 'sent' });
      return found.length > 0 && found;
    });
    const status = await request(server.url).get(`/job-statuses/${job}`).set(bo.bearer);
    expect(sent).toMatchObject({
      id: status.body.message_id,
      thread_id: status.body.thread_id,
      subject: 'Lunch?',
    });

    await send(cy, {
      to: [{ email: 'bo@sandbox.test' }],
      body: '<p>Yes</p>',
      reply_to_message_id: arrived?.id,
    });
    const [reply] = await until('the reply', async () => {
      const found = await messages(bo, { in: 'inbox' });
      return found.length > 0 && found;
    });
    expect(reply).toMatchObject({
      thread_id: sent?.thread_id,
      subject: expect.stringMatching(/lunch/i),
    });
    const thread = await until("the reply's own copy", async () => {
      const found = await messages(cy, { thread_id: arrived?.thread_id });
      return found.length === 2 && found;
    });
    expect(thread.map(({ folder }) => folder.name).sort()).toEqual(['inbox', 'sent']);
  });

  it('stores each message once, even if many arrive at once', async () => {
    const [from, to] = [
      await connect('from@sandbox.test', { sample_messages: false }),
      await connect('to@sandbox.test', { sample_messages: false }),
    ];
    await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        send(from, { to: [{ email: 'to@sandbox.test' }], subject: `No. ${n}` }),
      ),
    );
    for (const account of [from, to]) {
      await until('all messages', async () => (await messages(account)).length === 60);
      expect(new Set((await messages(account)).map(({ subject }) => subject)).size).toBe(60);
    }
  });
});
