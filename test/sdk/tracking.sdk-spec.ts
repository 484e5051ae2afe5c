import Nylas from 'nylas';
import draftModule from 'nylas/lib/models/draft.js';
import notificationModule from 'nylas/lib/models/webhook-notification.js';
import request from 'supertest';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const { default: Draft } = draftModule;
const { default: WebhookNotification } = notificationModule;

/** Runs tracked sends of the official client and reads the resulting notifications. */
describe('nylas@6.11.1, tracking', () => {
  let server: TestApp;
  let application: TestApplication;
  let receiver: Receiver;
  let ada: TestAccount;
  let bo: TestAccount;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    receiver = await Receiver.start();
    await createWebhook(server.app, application, `${receiver.origin}/hooks`, {
      triggers: ['message.opened', 'message.link_clicked', 'thread.replied'],
    });
    ada = await createAccount(server.app, application, { mirrored: true });
    bo = await createAccount(server.app, application, { mirrored: true });
    Nylas.config({
      clientId: application.clientId,
      clientSecret: application.clientSecret,
      apiServer: server.url,
    });
  });
  afterAll(async () => {
    await server.close();
    await receiver.stop();
  });

  const notification = (type: string) =>
    until(type, async () =>
      receiver.posted
        .filter(({ headers, body }) =>
          WebhookNotification.verifyWebhookSignature(
            String(headers['x-nylas-signature']),
            body,
            application.clientSecret,
          ),
        )
        .map(
          ({ body }) => new WebhookNotification().fromJSON(JSON.parse(body.toString())).deltas[0],
        )
        .find((delta) => delta?.type === type),
    );

  it('sends with tracking and receives notifications about openings, clicks and replies', async () => {
    const [client, reader] = [Nylas.with(ada.token), Nylas.with(bo.token)];
    const draft = new Draft(client, {
      subject: 'SDK tracked',
      body: '<p><a href="https://example.test/">x</a></p>',
      to: [{ email: bo.email, name: 'Bo' }],
    });
    await client.outbox.send(draft, {
      sendAt: 0,
      tracking: { opens: true, links: true, thread_replies: true, payload: 'from the SDK' },
    });
    const [received] = await until('the message', async () => {
      const found = await reader.messages.list({ subject: 'SDK tracked' });
      return found.length > 0 && found;
    });
    const paths = [
      ...(received?.body ?? '').matchAll(/http:\/\/localhost:\d+(\/t\/[oc]\?[\w=-]+)/g),
    ].map(([, path]) => path);
    expect(paths).toHaveLength(2);
    for (const path of paths)
      await request(server.url)
        .get(path ?? '')
        .redirects(0);
    const answer = new Draft(reader, {
      body: 'Yes',
      replyToMessageId: received?.id,
      to: [{ email: ada.email, name: '' }],
    });
    await reader.outbox.send(answer, { sendAt: 0 });

    const sent = await until(
      'the copy',
      async () => (await client.messages.list({ subject: 'SDK tracked', in: 'sent' }))[0],
    );
    const { metadata: opened } = (await notification('message.opened'))?.objectData ?? {};
    expect(opened).toMatchObject({
      messageId: sent.id,
      payload: 'from the SDK',
      count: 1,
      recents: [{ id: 0, ip: '127.0.0.1' }],
    });
    const { metadata: clicked } = (await notification('message.link_clicked'))?.objectData ?? {};
    expect(clicked).toMatchObject({
      messageId: sent.id,
      linkData: [{ url: 'https://example.test/', count: 1 }],
      recents: [{ id: 0, linkIndex: 0, timestamp: expect.any(Date) }],
    });
    const { metadata: replied } = (await notification('thread.replied'))?.objectData ?? {};
    expect(replied).toMatchObject({
      replyToMessageId: sent.id,
      threadId: sent.threadId,
      fromSelf: false,
    });
  });
});
