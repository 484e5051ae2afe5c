import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { connectMailbox, type RealAccount } from '../support/mail-servers/connect-account.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { MailServers } from '../support/mail-servers/mail-servers.ts';
import { Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

interface Bounce {
  message_id: string;
  type: string;
  code: string | null;
  bounced_addresses: string[];
  recipients: { text: string }[];
}

const PATIENCE_MS = 60_000;

/** A mail server accepts a message, cannot deliver it, and sends it back. */
describeWith(['dovecot', 'exim4'], 'mail returned by a real server', () => {
  jest.setTimeout(2 * PATIENCE_MS);
  let servers: MailServers;
  let server: TestApp;
  let application: TestApplication;
  let receiver: Receiver;
  let ada: RealAccount;

  beforeAll(async () => {
    servers = await MailServers.start();
    server = await startTestApp();
    application = await createApplication(server.app);
    receiver = await Receiver.start();
    await createWebhook(server.app, application, `${receiver.origin}/hooks`, {
      triggers: ['message.bounced'],
    });
    const user = await servers.addUser();
    ada = await connectMailbox(server, application, user, servers.settingsOf(user));
  });
  afterAll(async () => {
    await server.close();
    await servers.stop();
    await receiver.stop();
  });

  it.each([
    ['an unknown recipient', 'nobody.knows@example.test', /unknown|doesn't exist|not found/i],
    // No server was asked, so the report quotes none.
    ['an unknown domain', 'bo@nowhere.invalid', /^$/],
  ])('is reported by webhook with the id of the sent message: %s', async (_, email, words) => {
    const { body } = await request(server.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .send({
        to: [{ email }],
        subject: `To ${email}`,
        body: '<p>Hello</p>',
        tracking: { thread_replies: true },
      })
      .expect(202);
    const bounce = await until(
      'the notification',
      async () =>
        receiver.posted
          .map(
            (one) =>
              JSON.parse(one.body.toString()) as {
                deltas: [{ object_data: { metadata: Bounce } }];
              },
          )
          .map(({ deltas: [delta] }) => delta.object_data.metadata)
          .find(({ bounced_addresses: [address] }) => address === email),
      PATIENCE_MS,
    );
    const path = `/job-statuses/${(body as { job_status_id: string }).job_status_id}`;
    const job = (await request(server.url).get(path).set(ada.bearer)).body as {
      message_id: string;
    };
    expect(bounce).toMatchObject({
      message_id: job.message_id,
      type: 'hard',
      bounced_addresses: [email],
    });
    expect(bounce.recipients[0]?.text).toMatch(words);
  });
});
