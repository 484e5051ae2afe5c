import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { RelayEnrolment } from '../../src/mail/relay/relay-enrolment.ts';
import { connectSendGrid, rowsOf } from '../support/connect.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { SendGridServer } from '../support/sendgrid-server.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describe('the mailing service of an application', () => {
  let server: TestApp;
  let service: SendGridServer;
  let application: TestApplication;

  beforeAll(async () => {
    server = await startTestApp();
    service = await SendGridServer.start();
    application = await createApplication(server.app);
    await connectSendGrid(server, application, service);
  });
  afterAll(async () => {
    await server.close();
    await service.stop();
  });

  it("keeps a user's address when an outsider who connected that address without proof removes it", async () => {
    const email = 'ada@victim.test';
    const ada = await createAccount(server.app, application, { email });
    await server.app.get(RelayEnrolment, { strict: false }).run();
    expect(service.senders.map(({ from_email }) => from_email)).toEqual([email]);
    const eve = await createAccount(server.app, application, { email });
    await rowsOf(server, `update "grant" set proof = null, mailbox = 'his' where id = $1`, [
      eve.id,
    ]);
    const remove = (account = eve) =>
      request(server.url).delete('/v2/outbox/onboard/subuser').set(account.bearer).send({ email });
    await remove().expect(200);
    expect(service.senders.map(({ from_email }) => from_email)).toEqual([email]);
    await remove(ada).expect(200);
    expect(service.senders).toEqual([]);
  });
});
