import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import PostalMime, { type Email } from 'postal-mime';
import request from 'supertest';
import { WebhookMails } from '../../src/accounts/webhook-mails/webhook-mails.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { type MailUser, MailServers } from '../support/mail-servers/mail-servers.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { agreeable, Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const PATIENCE_MS = 120_000;
const MINUTE_MS = 60_000;

/** A receiver of webhooks fails, and the operator's real mail server takes the mail about it. */
describeWith(['dovecot', 'exim4'], 'a webhook that fails', () => {
  jest.setTimeout(2 * PATIENCE_MS);
  const clock = new PassingClock();
  let servers: MailServers;
  let server: TestApp;
  let application: TestApplication;
  let receiver: Receiver;
  let team: MailUser;

  beforeAll(async () => {
    servers = await MailServers.start();
    team = await servers.addUser();
    server = await startTestApp(
      {
        OPERATOR_SMTP_URL: `smtp+plain://127.0.0.1:${servers.exim.port}`,
        OPERATOR_MAIL_FROM: 'carillon@operator.test',
      },
      { clock },
    );
    application = await createApplication(server.app, { name: 'Front desk' });
    receiver = await Receiver.start();
  });
  afterAll(async () => {
    await server.close();
    await servers.stop();
    await receiver.stop();
  });

  async function inbox(): Promise<Email[]> {
    const client = await servers.client(team);
    try {
      const lock = await client.getMailboxLock('INBOX');
      try {
        const mails: Email[] = [];
        const { exists } = client.mailbox || { exists: 0 };
        if (exists === 0) return mails;
        for await (const { source } of client.fetch('1:*', { source: true }))
          mails.push(await PostalMime.parse(source ?? ''));
        return mails;
      } finally {
        lock.release();
      }
    } finally {
      await client.logout();
    }
  }

  it('is reported to the mailbox of its contact address, once for each change', async () => {
    const { clientId, secretBasic } = application;
    await request(server.url)
      .put(`/a/${clientId}`)
      .set(secretBasic)
      .send({ contact_email: team.email })
      .expect(200);
    // A new address causes a look for webhooks that fail already. It finds none.
    await clock.pass(MINUTE_MS);
    await server.app.get(WebhookMails, { strict: false }).run();
    const { body } = await request(server.url)
      .post(`/a/${clientId}/webhooks`)
      .set(secretBasic)
      .send({
        callback_url: `${receiver.origin}/hooks?key=hidden`,
        triggers: ['grant.created', 'account.connected'],
      })
      .expect(200);
    const { id } = body as { id: string };
    receiver.behave = (response, received, socket) => {
      if (received.method === 'POST') response.writeHead(410).end('gone');
      else agreeable(response, received, socket);
    };
    const integration = { name: 'Sandbox', provider: 'sandbox' };
    const of = { path: '/connect/integrations', body: integration };
    await request(server.url).post(of.path).set(application.basic).send(of.body).expect(200);
    await request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .send({ provider: 'sandbox', settings: { email: 'ada@sandbox.test' } })
      .expect(200);
    await until(
      'the end of deliveries',
      async () => {
        const path = `/a/${clientId}/webhooks/${id}`;
        const { body: webhook } = await request(server.url).get(path).set(secretBasic);
        return (webhook as { state: string }).state === 'failed';
      },
      PATIENCE_MS,
    );
    await clock.pass(MINUTE_MS);
    const mails = await until(
      'the mail',
      async () => {
        const all = await inbox();
        return all.length > 0 && all;
      },
      PATIENCE_MS,
    );
    expect(mails).toHaveLength(1);
    const [{ subject, text, from } = {} as Partial<Email>] = mails;
    expect(from?.address).toBe('carillon@operator.test');
    expect(subject).toBe('Carillon: a webhook was stopped (Front desk)');
    expect(text).toContain(`${receiver.origin}/hooks was stopped.`);
    expect(text).toContain('the receiver answered 410');
    expect(text).toContain(id);
    expect(text).not.toContain('hidden');
  });
});
