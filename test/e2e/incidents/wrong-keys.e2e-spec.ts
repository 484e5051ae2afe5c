import { randomBytes } from 'node:crypto';
import request from 'supertest';
import { registerSandbox, rowsOf } from '../../support/connect.ts';
import { createAccount, createApplication } from '../../support/factories.ts';
import { createOperator } from '../../support/operators.ts';
import { checkMetric, overviewOf, readyOf } from '../../support/operators-view.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { until } from '../../support/until.ts';

const newKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
const [oldKey, wrongKey] = [newKey('old'), newKey('new')];

const LACKS = 'ENCRYPTION_KEYS lacks "old"; secrets in this database are encrypted with it';
const CONCERN = `Not ready: keys ${LACKS}`;

describe('an api process with wrong keys', () => {
  let right: TestApp;
  beforeAll(async () => {
    right = await startTestApp({ ROLES: 'api', ENCRYPTION_KEYS: oldKey });
  });
  afterAll(() => right.close());

  const startAnother = (keys: string) =>
    startServerProcess({
      DATABASE_URL: right.database.url,
      ENCRYPTION_KEYS: keys,
      ROLES: 'api',
      NODE_ENV: 'test',
      EGRESS_ALLOW: '127.0.0.0/8',
    });

  it('encrypts nothing and answers 503 where that is needed, is named in the overview of another process, and leaves nothing unreadable', async () => {
    const application = await createApplication(right.app);
    await registerSandbox(right, application);
    const ada = await createAccount(right.app, application);
    const operator = await createOperator(right);
    const requestsTo = (url: string) => [
      request(url)
        .post('/connect/integrations')
        .set(application.basic)
        .send({
          name: 'Google',
          provider: 'google',
          settings: { client_id: 'gid.example.test', client_secret: 'very-secret-value' },
        }),
      request(url)
        .post('/connect/authorize')
        .send({
          client_id: application.clientId,
          name: 'Grace',
          email_address: 'grace@sandbox.test',
          provider: 'sandbox',
          settings: { password: 'p4ssw0rd-of-grace' },
        }),
    ];
    const sealed = () =>
      rowsOf(
        right,
        `select settings_sealed as sealed from "grant" union all
        select secret_settings_sealed from integration order by 1`,
      );
    const before = await sealed();

    const wrong = await startAnother(wrongKey);
    for (const { status, text } of await Promise.all(requestsTo(wrong.url))) {
      expect([status, text]).toEqual([503, expect.stringContaining('encryption keys do not fit')]);
    }
    expect(await sealed()).toEqual(before);
    // A request that needs no secret is served.
    await request(wrong.url).get('/account').set(ada.bearer).expect(200);
    expect(await readyOf(wrong)).toEqual({ status: 503, failing: { keys: LACKS } });
    expect(await checkMetric(wrong, 'keys')).toBe(0);
    expect(wrong.output()).toContain('claims nothing and encrypts nothing');
    const line = await until('the overview names the process', async () =>
      (await overviewOf(right, operator)).find(({ title }) => title === CONCERN),
    );
    expect(line).toMatchObject({
      tone: 'bad',
      text: expect.stringContaining(`process ${wrong.pid} on`),
    });
    await wrong.stop();

    const repaired = await startAnother(`${wrongKey},${oldKey}`);
    const [integration] = requestsTo(repaired.url);
    await integration?.expect(200);
    expect(await readyOf(repaired)).toEqual({ status: 200, failing: {} });
    expect((await overviewOf(right, operator)).map(({ title }) => title)).not.toContain(CONCERN);
    await repaired.stop();
  });
});
