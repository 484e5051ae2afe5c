import request from 'supertest';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { createOperator, type TestOperator } from '../support/operators.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const MAIL_SERVER = {
  OPERATOR_SMTP_URL: 'smtp+plain://127.0.0.1:9',
  OPERATOR_MAIL_FROM: 'carillon@operator.test',
};
const ADDRESS = 'team@app.test';

const read = async (server: TestApp, { clientId, secretBasic }: TestApplication) =>
  (
    (await request(server.url).get(`/a/${clientId}`).set(secretBasic).expect(200)).body as {
      contact_email: string | null;
    }
  ).contact_email;
const put = (server: TestApp, { clientId, secretBasic }: TestApplication, body: object) =>
  request(server.url).put(`/a/${clientId}`).set(secretBasic).send(body);

describe('the contact address of an application', () => {
  let server: TestApp;
  let application: TestApplication;
  let operator: TestOperator;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api', ...MAIL_SERVER });
    operator = await createOperator(server);
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());

  const admin = (body: object, of = application.clientId) =>
    request(server.url).put(`/admin/applications/${of}/contact`).set(operator.bearer).send(body);
  const consolePath = () => `/console/applications/${application.id}`;
  const page = async (path: string) =>
    (await request(server.url).get(path).set(operator.cookie).expect(200)).text;
  const submit = (fields: object) =>
    request(server.url)
      .post(`${consolePath()}/contact`)
      .set(operator.cookie)
      .type('form')
      .send({ csrf_token: operator.csrf, ...fields });

  it('is set, read and removed by the application itself, and other changes keep it', async () => {
    expect(await read(server, application)).toBeNull();
    const set = await put(server, application, { contact_email: ` ${ADDRESS} ` }).expect(200);
    expect(set.body).toMatchObject({ contact_email: ADDRESS });
    await put(server, application, { application_name: 'Back desk' }).expect(200);
    expect(await read(server, application)).toBe(ADDRESS);
    await put(server, application, { contact_email: '' }).expect(200);
    expect(await read(server, application)).toBeNull();
    await put(server, application, { contact_email: ADDRESS }).expect(200);
    await put(server, application, { contact_email: null }).expect(200);
    expect(await read(server, application)).toBeNull();
  });

  it.each([
    ['no address', 'nobody'],
    ['two addresses', 'a@app.test,b@app.test'],
    ['a line break', 'a@app.test\r\nBcc: b@app.test'],
    ['a name beside the address', 'Team <team@app.test>'],
    ['a list', ['team@app.test']],
    ['a long text', `${'a'.repeat(320)}@app.test`],
  ])('is refused with the name of the field if it is %s', async (_, contact_email) => {
    const { body } = await put(server, application, { contact_email }).expect(400);
    expect((body as { message: string }).message).toContain('contact_email');
    await admin({ contact_email }).expect(400);
    expect(await read(server, application)).toBeNull();
  });

  it('is set and shown by the admin API, and recorded in the audit log', async () => {
    const { body } = await admin({ contact_email: ADDRESS }).expect(200);
    expect(body).toMatchObject({ contact_email: ADDRESS });
    const log = await request(server.url)
      .get(`/admin/audit-log?action=application.update&actor=${operator.name}`)
      .set(operator.bearer)
      .expect(200);
    expect((log.body as { items: unknown[] }).items[0]).toMatchObject({
      details: { changed: ['contactEmail'] },
    });
    await admin({}).expect(400);
    await admin({ contact_email: ADDRESS }, 'no-such-application').expect(404);
  });

  it('is changed and removed in the console', async () => {
    expect(await page(consolePath())).toContain('nobody gets mails about its webhooks');
    await submit({ contact_email: ADDRESS }).expect(303);
    expect(await page(consolePath())).toContain(ADDRESS);
    expect(await page(`${consolePath()}/contact`)).toContain(`value="${ADDRESS}"`);
    await submit({ contact_email: 'nobody' }).expect(400);
    // Only the empty text removes it.
    await submit({}).expect(400);
    expect(await read(server, application)).toBe(ADDRESS);
    await submit({ contact_email: '' }).expect(303);
    expect(await read(server, application)).toBeNull();
  });
});

describe('the contact address of an application on a server without a mail server', () => {
  let server: TestApp;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
  });
  afterAll(() => server.close());

  it('is refused with the setting that is missing, and shown with a hint if it was set before', async () => {
    const application = await createApplication(server.app);
    const { body } = await put(server, application, { contact_email: ADDRESS }).expect(400);
    expect((body as { message: string }).message).toMatch(/^contact_email: .*OPERATOR_SMTP_URL/);
    await put(server, application, { contact_email: null }).expect(200);
    const kept = await createApplication(server.app, { contactEmail: ADDRESS });
    const operator = await createOperator(server);
    const { text } = await request(server.url)
      .get(`/console/applications/${kept.id}`)
      .set(operator.cookie)
      .expect(200);
    expect(text).toContain('gets no mail: OPERATOR_SMTP_URL is not set');
    // The same address again is no change.
    await put(server, kept, { contact_email: ADDRESS }).expect(200);
  });
});
