import Nylas from 'nylas';
import draftModule from 'nylas/lib/models/draft.js';
import request from 'supertest';
import { connectSendGrid } from '../support/connect.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { SendGridServer } from '../support/sendgrid-server.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const { default: Draft } = draftModule;

/** Runs the unchanged official Node client for an application with a mailing service. */
describe('nylas@6.11.1, the mailing service', () => {
  let server: TestApp;
  let service: SendGridServer;
  let ada: TestAccount;
  let nylas: ReturnType<typeof Nylas.with>;

  beforeAll(async () => {
    server = await startTestApp();
    service = await SendGridServer.start();
    const application = await createApplication(server.app);
    ada = await createAccount(server.app, application, { email: 'ada@sandbox.test', name: 'Ada' });
    const { clientId, clientSecret } = application;
    Nylas.config({ clientId, clientSecret, apiServer: server.url });
    nylas = Nylas.with(ada.token);
    const before = await nylas.outbox.sendGridVerificationStatus();
    expect([before.domainVerified, before.senderVerified]).toEqual([false, false]);
    await connectSendGrid(server, application, service);
  });
  afterAll(async () => {
    await server.close();
    await service.stop();
  });

  it('reads whether the automatically requested confirmation of the account has been given', async () => {
    const enrolled = async () => service.senders[0]?.from_email === ada.email;
    await until('the account to be enrolled', enrolled);
    service.follow(ada.email);
    const status = await nylas.outbox.sendGridVerificationStatus();
    expect([status.domainVerified, status.senderVerified]).toEqual([false, true]);
  });

  it('sends through the mailing service when the account has reached its daily limit, and the job shows the route', async () => {
    const to = [{ email: 'quota@sandbox.test', name: 'Bo' }];
    const draft = new Draft(nylas, { subject: 'Over the limit', body: '<p>Hello</p>', to });
    const { jobStatusId = '' } = await nylas.outbox.send(draft, { sendAt: 0 });
    const job = await until('the message to be sent', async () => {
      const { body } = await request(server.url)
        .get(`/job-statuses/${jobStatusId}`)
        .set(ada.bearer);
      return body.status === 'successful' && (body as Record<string, unknown>);
    });
    expect(job['route']).toBe('relay');
    expect(service.mails).toMatchObject([
      {
        personalizations: [{ to: [{ email: 'quota@sandbox.test', name: 'Bo' }] }],
        from: { email: ada.email },
        subject: 'Over the limit',
      },
    ]);
  });

  it('removes the account from the mailing service', async () => {
    await nylas.outbox.deleteSendGridSubUser(ada.email);
    expect(service.senders).toEqual([]);
    const status = await nylas.outbox.sendGridVerificationStatus();
    expect(status.senderVerified).toBe(false);
    await expect(nylas.outbox.deleteSendGridSubUser('bo@sandbox.test')).rejects.toMatchObject({
      statusCode: 400,
    });
  });
});
