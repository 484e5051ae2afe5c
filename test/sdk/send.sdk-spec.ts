import Nylas from 'nylas';
import draftModule from 'nylas/lib/models/draft.js';
import fileModule from 'nylas/lib/models/file.js';
import { rowsOf } from '../support/connect.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const { default: Draft } = draftModule;
const { default: File } = fileModule;
const BO = { email: 'bo@elsewhere.test', name: 'Bo' };

/** Runs the send calls of the unchanged official client. */
describe('nylas@6.11.1, sending', () => {
  let server: TestApp;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp();
    const application = await createApplication(server.app);
    ada = await createAccount(server.app, application, { mirrored: true });
    Nylas.config({
      clientId: application.clientId,
      clientSecret: application.clientSecret,
      apiServer: server.url,
    });
    await until('the folders', async () => (await Nylas.with(ada.token).folders.list()).length > 0);
  });
  afterAll(() => server.close());

  const copyOf = (id: string | undefined) =>
    until('the copy', () =>
      Nylas.with(ada.token)
        .messages.find(id ?? '')
        .catch(() => undefined),
    );

  it('sends a message whose copy has the id of the response', async () => {
    const client = Nylas.with(ada.token);
    const draft = new Draft(client, {
      subject: 'Direct',
      body: '<p>Hi</p>',
      to: [BO],
      metadata: { a: 'b' },
    });
    const message = await draft.send();
    expect(message).toMatchObject({ object: 'message', subject: 'Direct', accountId: ada.id });
    expect(await copyOf(message.id)).toMatchObject({
      threadId: message.threadId,
      metadata: { a: 'b' },
    });
  });

  it('sends a stored draft with its file, and the draft disappears', async () => {
    const client = Nylas.with(ada.token);
    const file = new File(client, {
      filename: 'menu.txt',
      data: 'Menu: soup',
      contentType: 'text/plain',
    });
    await file.upload();
    const draft = new Draft(client, {
      subject: 'Stored',
      body: '<p>Hi</p>',
      to: [BO],
      files: [file],
    });
    await draft.save();
    const message = await draft.send();
    expect(message.files).toMatchObject([{ filename: 'menu.txt' }]);
    expect(await client.drafts.list()).toEqual([]);
    expect((await copyOf(message.id)).files).toMatchObject([{ filename: 'menu.txt' }]);
  });

  it('sends with tracking, which neither the response nor the copy shows', async () => {
    const body = '<p>See <a href="https://there.test/menu">the menu</a></p>';
    const draft = new Draft(Nylas.with(ada.token), { subject: 'Tracked', body, to: [BO] });
    const message = await draft.send({
      opens: true,
      links: true,
      thread_replies: true,
      payload: 'p-1',
    });
    expect(message).toMatchObject({ subject: 'Tracked', body });
    expect((await copyOf(message.id)).body?.trim()).toBe(body);
    expect(
      await rowsOf(
        server,
        'select opens, links, thread_replies, payload, urls from tracked_message',
      ),
    ).toEqual([
      {
        opens: true,
        links: true,
        thread_replies: true,
        payload: 'p-1',
        urls: ['https://there.test/menu'],
      },
    ]);
  });

  it('sends raw MIME', async () => {
    const client = Nylas.with(ada.token);
    const rawMime = [`From: ${ada.email}`, `To: ${BO.email}`, 'Subject: Raw', '', 'Good day'].join(
      '\r\n',
    );
    const message = await new Draft(client, { rawMime, to: [] }).send();
    expect(await copyOf(message.id)).toMatchObject({ subject: 'Raw', snippet: 'Good day' });
  });

  it("reports the server's error text if the server refuses a message", async () => {
    const draft = new Draft(Nylas.with(ada.token), {
      to: [{ email: 'rejected@sandbox.test', name: '' }],
    });
    await expect(draft.send()).rejects.toMatchObject({
      statusCode: 402,
      type: 'api_error',
      serverError: expect.stringMatching(/^550 : 5\.1\.1/),
    });
  });
});
