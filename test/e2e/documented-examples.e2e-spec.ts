import request from 'supertest';
import { DocumentedApi } from '../support/examples/documented.ts';
import { ExampleReader, type Step } from '../support/examples/reader.ts';
import { invite } from '../support/examples/invitation.ts';
import {
  ADMIN_ENDS,
  ADMIN_STEPS,
  API_ENDS,
  API_STEPS,
  NOT_TRIED,
} from '../support/examples/steps.ts';
import { adminDocumentOf, apiDocumentOf } from '../support/documents.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { createOperator } from '../support/operators.ts';
import { Receiver } from '../support/receiver.ts';
import { SendGridServer } from '../support/sendgrid-server.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const ORDER = [...API_STEPS, ...ADMIN_STEPS, ...API_ENDS, ...ADMIN_ENDS];
/** The sandbox delays every message to this recipient. */
const BUSY = 'temporary@sandbox.test';

/** A fresh server whose demo accounts and examples a reader of the documents tries in `ORDER`. */
describe('examples of the OpenAPI documents', () => {
  let server: TestApp;
  let application: TestApplication;
  let receiver: Receiver;
  let sendGrid: SendGridServer;
  let api: DocumentedApi;
  let admin: DocumentedApi;
  const known = new Map<string, string>();

  beforeAll(async () => {
    server = await startTestApp({
      NEURAL: 'true',
      // No mail is sent there: no webhook of this server fails.
      OPERATOR_SMTP_URL: 'smtp+plain://127.0.0.1:9',
      OPERATOR_MAIL_FROM: 'carillon@operator.test',
    });
    receiver = await Receiver.start();
    sendGrid = await SendGridServer.start();
    api = new DocumentedApi(apiDocumentOf(server.app));
    admin = new DocumentedApi(adminDocumentOf(server.app));
    application = await createApplication(server.app, { features: ['sms', 'neural'] });
    const mailbox = { email: 'bo@sandbox.test', mirrored: true };
    await createAccount(server.app, application, mailbox);
    const labels = await createAccount(server.app, application, {
      mirrored: true,
      organizationUnit: 'label',
      settings: { organization_unit: 'label' },
    });
    const operator = await createOperator(server);
    for (const [name, value] of [
      ['client_id', application.clientId],
      ['client_secret', application.clientSecret],
      ['application_name', 'Front desk'],
      ['label_token', labels.token],
      ['label_account', labels.id],
      ['operator_token', operator.bearer.authorization.replace('Bearer ', '')],
      // What the reader of the document has: a server for webhooks, and a mailing service.
      ['receiver', `${receiver.origin}/hook`],
      ['sendgrid_key', sendGrid.key],
      ['sendgrid_url', sendGrid.origin],
    ] as const)
      known.set(name, value);
  });
  afterAll(async () => {
    await Promise.all([receiver.stop(), sendGrid.stop()]);
    await server.close();
  });

  const attempt = async (steps: readonly Step[], document: DocumentedApi): Promise<string[]> => {
    const reader = new ExampleReader(server.url, document, known);
    const faults: string[] = [];
    for (const step of steps) faults.push(...(await reader.perform(step)));
    return faults;
  };

  /** Has a message of the account that waits for its next attempt. */
  const delayMessage = async () => {
    const bearer = { authorization: `Bearer ${known.get('token') ?? ''}` };
    const { body } = await request(server.url)
      .post('/v2/outbox')
      .set(bearer)
      .send({ to: [{ email: BUSY }], subject: 'Hello', body: 'Hello' })
      .expect(202);
    const id = body.job_status_id as string;
    known.set('job', id);
    await until('a delayed message', async () => {
      const { body: job } = await request(server.url).get(`/job-statuses/${id}`).set(bearer);
      return (job as { status: string }).status === 'delayed';
    });
  };

  it('has a step for every operation, or a reason why there is none', () => {
    const operations = [...api.operations.keys(), ...admin.operations.keys()];
    const tried = new Set(ORDER.map((step) => step.try));
    expect(operations.filter((name) => !tried.has(name) && !(name in NOT_TRIED))).toEqual([]);
    const named = [...tried, ...Object.keys(NOT_TRIED)];
    expect(named.filter((name) => !operations.includes(name))).toEqual([]);
    expect(Object.keys(NOT_TRIED).filter((name) => tried.has(name))).toEqual([]);
  });

  it('get their documented success, sent as they are', async () => {
    const connect = API_STEPS.findIndex((step) => step.try === 'GET /account');
    expect(await attempt(API_STEPS.slice(0, connect), api)).toEqual([]);
    await invite(server, known.get('account') ?? '');
    expect(await attempt(API_STEPS.slice(connect), api)).toEqual([]);
    await delayMessage();
    expect(await attempt(ADMIN_STEPS, admin)).toEqual([]);
    expect(await attempt(API_ENDS, api)).toEqual([]);
    expect(await attempt(ADMIN_ENDS, admin)).toEqual([]);
  });
});
