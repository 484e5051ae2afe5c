import { isDeepStrictEqual } from 'node:util';
import request from 'supertest';
import { OperatorApiUse } from '../../src/operator/api-use/operator-api-use.ts';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { ApiUseCounter } from '../../src/platform/budgets/api-use-counter.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { COMPANIES } from '../support/companies/companies.ts';
import { type Company, type CompanyStub, plainMessage } from '../support/companies/company.ts';
import {
  type CompanyAccount,
  connectCompany,
  registerCompany,
} from '../support/companies/connected.ts';
import { google, type GoogleCompanyStub } from '../support/companies/google-company.ts';
import { microsoft } from '../support/companies/microsoft-company.ts';
import { rowsOf } from '../support/connect.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { createOperator } from '../support/operators.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const DAY_MS = 86_400_000;
/** Of Gmail a day. A message costs 20 to read and 100 to send. */
const CEILING = 100_000;
/** As the console shows a number. */
const formatted = (units: number): string => units.toLocaleString('en-US');

describe('what applications use of the APIs of Google and Microsoft', () => {
  const clock = new PassingClock();
  const worlds = new Map<Company['provider'], CompanyStub>();
  const accounts = new Map<Company['provider'], CompanyAccount>();
  let server: TestApp;
  let application: TestApplication;

  beforeAll(async () => {
    const now = () => clock.now().getTime();
    const environment: Record<string, string> = {
      QUOTA_APPLICATION_GMAIL_UNITS: String(CEILING),
      SYNC_POLL_SECONDS: '3600',
      SYNC_POLL_WATCHED_SECONDS: '3600',
      SYNC_AUDIT_SECONDS: '0',
    };
    for (const company of COMPANIES) {
      const world = await company.start(now);
      worlds.set(company.provider, world);
      Object.assign(environment, world.environment);
    }
    server = await startTestApp(environment, { clock });
    application = await createApplication(server.app);
    for (const company of COMPANIES) {
      const world = worldOf(company);
      const email = `ann@${company.domain}`;
      world.addUser(email, 'Ann');
      await world.deliver(email, plainMessage(email, 'Hello'));
      await registerCompany(server, application, company, world);
      const rights = ['mail', 'calendar', 'contacts'] as const;
      const person = { email, rights };
      accounts.set(
        company.provider,
        await connectCompany(server, application, company, world, person),
      );
    }
    for (const company of COMPANIES) await until('the mailbox', () => firstMessage(company));
  });
  afterAll(async () => {
    await server.close();
    for (const world of worlds.values()) await world.stop();
  });

  const worldOf = ({ provider }: Pick<Company, 'provider'>): CompanyStub => worlds.get(provider)!;
  const accountOf = ({ provider }: Pick<Company, 'provider'>): CompanyAccount =>
    accounts.get(provider)!;
  const as = (company: Pick<Company, 'provider'>) => accountOf(company).bearer;
  const firstMessage = async (company: Pick<Company, 'provider'>): Promise<string | false> => {
    const { body } = await request(server.url).get('/messages?in=inbox').set(as(company));
    const [message] = body as { id: string }[];
    return message?.id ?? false;
  };
  const quotas = () => (worldOf(google) as GoogleCompanyStub).stub.quotas.perProject;
  const store = () => server.app.get(ApiUseCounter).store();
  const use = async () => (await server.app.get(OperatorApiUse).list(application.clientId)).items;
  const today = async (api: string) => (await use()).find((one) => one.api === api)?.today;
  /** As if other processes had used so many units of Gmail today. */
  const usedElsewhere = async (units: number) => {
    await store();
    await rowsOf(server, `update api_use set units = $1 where api = 'gmail'`, [units]);
    // Storing a call of its own tells this process the sum.
    await raw();
    await store();
  };
  const raw = async () =>
    request(server.url)
      .get(`/messages/${await firstMessage(google)}`)
      .set({ ...as(google), accept: 'message/rfc822' });
  const count = async (account: CompanyAccount): Promise<number> => {
    const { body } = await request(server.url).get('/messages?view=count').set(account.bearer);
    return (body as { count: number }).count;
  };
  const sync = () => scheduleSync(server.app.get(Database), accountOf(google).id);
  const newest = async (): Promise<string | undefined> => {
    const { body } = await request(server.url).get('/messages?in=inbox&limit=1').set(as(google));
    return (body as { subject: string }[])[0]?.subject;
  };

  it('is counted in the units of the company, exactly as the company counts it', async () => {
    const { gmail, calendar, people } = quotas();
    const counted = async () => {
      await store();
      return Object.fromEntries((await use()).map(({ api, today: units }) => [api, units]));
    };
    const charged = () => ({
      gmail: gmail.total('project').units,
      'google-calendar': calendar.total('project').requests,
      'google-people': people.total('project').requests,
      'microsoft-graph': worldOf(microsoft).stub.requests.filter(({ path }) =>
        path.startsWith('/v1.0/'),
      ).length,
    });
    await until('all calls to be counted and stored', async () =>
      isDeepStrictEqual(await counted(), charged()),
    );
    expect(gmail.total('project').units).toBeGreaterThan(gmail.total('project').requests);
  });

  it('is summed over processes and days, and forecast to the end of the month', async () => {
    await store();
    const before = (await today('gmail')) ?? 0;
    const days = [1, 2].map((ago) => new Date(clock.now().getTime() - ago * DAY_MS));
    for (const day of days)
      await rowsOf(
        server,
        `insert into api_use (application_id, api, day, units) select id, 'gmail', $2, 100000000 from application where client_id = $1`,
        [application.clientId, day.toISOString().slice(0, 10)],
      );
    const [state] = await use();
    expect(state).toMatchObject({ api: 'gmail', counts: 'units', today: before, perDay: 1e8 });
    expect(state?.paidForecast).toBeGreaterThanOrEqual(20e6);
    await rowsOf(server, 'delete from api_use where units = 100000000', []);
  });

  it('is shown to operators by the admin API, the console and the metrics', async () => {
    await store();
    const operator = await createOperator(server);
    const { body } = await request(server.url)
      .get(`/admin/api-use?application=${application.clientId}`)
      .set(operator.bearer)
      .expect(200);
    const [gmail] = body.items as Record<string, unknown>[];
    expect(gmail).toMatchObject({
      application: { client_id: application.clientId },
      company: 'google',
      api: 'gmail',
      counts: 'units',
      ceiling: CEILING,
      free_per_day: 80_000_000,
      cost_forecast: null,
    });
    expect(body.prices_checked_on).toBe('2026-11-27');
    const others = await request(server.url)
      .get('/admin/api-use?application=other')
      .set(operator.bearer);
    expect(others.body.items).toEqual([]);
    const page = await request(server.url)
      .get(`/console/applications/${application.clientId}`)
      .set(operator.cookie);
    expect(page.text).toContain('Use of Google and Microsoft');
    expect(page.text).toContain('Microsoft Graph');
    const metrics = await request(server.url).get('/metrics');
    expect(metrics.text).toMatch(
      /^carillon_company_api_units_total\{company="google",api="gmail"\} \d/m,
    );
    expect(metrics.text).toMatch(
      /^carillon_company_api_ceiling_used_ratio\{company="google",api="gmail"\} 0\.\d/m,
    );
    expect(metrics.text).not.toContain(application.clientId);
  });

  it('is measured and watched for all applications, however many use the APIs', async () => {
    const { clientId } = application;
    await rowsOf(
      server,
      `insert into application select (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(),
         'client_id', 'many-' || n, 'secret_hash', '\\x' || md5(n::text)))).*
       from application a, generate_series(1, 1001) n where a.client_id = $1`,
      [clientId],
    );
    await rowsOf(
      server,
      `insert into api_use (application_id, api, day, units)
       select id, 'gmail', $1, 10000 + substr(client_id, 6)::int from application where client_id like 'many-%'`,
      [clock.now().toISOString().slice(0, 10)],
    );
    const operatorUse = server.app.get(OperatorApiUse);
    const all = await operatorUse.all(server.app.get(Database));
    expect(all.filter(({ application: one }) => one.clientId.startsWith('many-'))).toHaveLength(
      1001,
    );
    expect((await operatorUse.list()).items).toHaveLength(1000);
    await rowsOf(server, `delete from application where client_id like 'many-%'`, []);
  });

  describe('near the ceiling of the application', () => {
    const world = () => worldOf(google);
    const arrive = async (subject: string) => {
      const { email } = accountOf(google);
      await world().deliver(email, plainMessage(email, subject));
      await sync();
    };

    it('stops reading older mail from 80 % on, and goes on the next day', async () => {
      // Messages that are read at the first attempt are counted.
      (world() as GoogleCompanyStub).stub.habits.refusesEvery = null;
      await usedElsewhere(CEILING * 0.81);
      const email = `bo@${google.domain}`;
      world().addUser(email, 'Bo');
      for (let index = 0; index < 45; index += 1)
        await world().deliver(email, plainMessage(email, `Older ${index}`));
      const bo = await connectCompany(server, application, google, world(), {
        email,
        rights: ['mail'],
      });
      await until('the newest messages', async () => (await count(bo)) >= 40);
      await arrive('News at 81 %');
      await until('news', async () => (await newest()) === 'News at 81 %');
      expect(await count(bo)).toBe(40);
      await clock.pass(DAY_MS);
      await until('all messages', async () => (await count(bo)) === 45);
    });

    it('syncs nothing from 90 % on, while requests still reach the company', async () => {
      await usedElsewhere(CEILING * 0.91);
      const before = quotas().gmail.total('project').requests;
      await arrive('News at 91 %');
      await until('the pass to wait', async () => {
        const [job] = await rowsOf(
          server,
          "select failures, state, run_at > now() + interval '30 minutes' as waits from sync_job where account_id = $1",
          [accountOf(google).id],
        );
        return job?.['state'] === 0 && job['waits'] === true && job['failures'] === 0;
      });
      expect(quotas().gmail.total('project').requests).toBe(before);
      expect(await newest()).toBe('News at 81 %');
      expect((await raw()).status).toBe(200);
    });

    it('refuses requests that need the company from 100 % on, and says until when', async () => {
      await usedElsewhere(CEILING);
      const { status, headers, body } = await raw();
      expect(status).toBe(429);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(3_600);
      expect(body.message).toMatch(
        /not asked to .*: the application has used what it may use of Gmail in a day: 100000 units \(QUOTA_APPLICATION_GMAIL_UNITS=100000\)\. The count starts again at \d{4}-\d\d-\d\dT00:00:00Z/,
      );
    });

    it('follows a ceiling that an operator sets for the application, until it is removed', async () => {
      const operator = await createOperator(server);
      const set = async (units: number | null) => {
        const { body } = await request(server.url)
          .put(`/admin/applications/${application.clientId}/ceilings`)
          .set(operator.bearer)
          .send({ api: 'gmail', units })
          .expect(200);
        await store();
        return body as { ceiling: number | null; is_own: boolean };
      };
      expect(await set(2 * CEILING)).toMatchObject({ ceiling: 2 * CEILING, is_own: true });
      expect((await raw()).status).toBe(200);
      expect((await use()).find(({ api }) => api === 'gmail')?.ceiling).toBe(2 * CEILING);
      await set(CEILING / 2);
      expect((await raw()).body.message).toContain('(its own limit is 50000)');
      expect(await set(0)).toMatchObject({ ceiling: null });
      expect((await raw()).status).toBe(200);
      expect(await set(null)).toMatchObject({ ceiling: CEILING, is_own: false });
      expect((await raw()).status).toBe(429);
      await request(server.url)
        .put(`/admin/applications/${application.clientId}/ceilings`)
        .set(operator.bearer)
        .send({ api: 'google-calendar', units: 1 })
        .expect(400);
    });

    it('follows a ceiling that an operator sets and removes in the console', async () => {
      const operator = await createOperator(server);
      const path = `/console/applications/${application.id}`;
      const page = async (at = path) =>
        (await request(server.url).get(at).set(operator.cookie).expect(200)).text;
      const send = (fields: object, by = operator) =>
        request(server.url).post(`${path}/ceiling`).set(by.cookie).type('form').send(fields);
      const set = async (units: string) => {
        const answer = await send({ csrf_token: operator.csrf, api: 'gmail', units });
        expect(answer.status).toBe(303);
        await store();
        return page(answer.headers['location']);
      };
      expect(await page()).toContain(`${formatted(CEILING)} quota units a day`);
      const month = (await use()).find(({ api }) => api === 'gmail')?.month ?? 0;
      expect(await page(`${path}/ceiling`)).toContain(formatted(month));
      const after = await set(String(3 * CEILING));
      expect(after).toContain('The ceiling is changed.');
      expect(after).toContain(`${formatted(3 * CEILING)} quota units a day`);
      expect(after).toContain('set for this application');
      expect((await raw()).status).toBe(200);
      expect(await set('')).toContain('by QUOTA_APPLICATION_GMAIL_UNITS');
      expect((await raw()).status).toBe(429);
      const { csrf: csrf_token } = operator;
      const refused: [object, number][] = [
        [{ api: 'gmail', units: '5' }, 403],
        [{ csrf_token, api: 'gmail', units: '-1' }, 400],
        [{ csrf_token, api: 'gmail', units: '1e3' }, 400],
        [{ csrf_token, api: 'gmail', units: '9'.repeat(30) }, 400],
        [{ csrf_token, api: 'google-calendar', units: '5' }, 400],
        [{ csrf_token, units: '5' }, 400],
        // Only the empty text removes the ceiling.
        [{ csrf_token, api: 'gmail' }, 400],
      ];
      for (const [fields, status] of refused)
        expect([fields, (await send(fields)).status]).toEqual([fields, status]);
      const reader = await createOperator(server, 'read');
      const attempt = await send({ csrf_token: reader.csrf, api: 'gmail', units: '5' }, reader);
      expect(attempt.status).toBe(403);
      const { body } = await request(server.url)
        .get(`/admin/audit-log?action=application.ceiling&actor=${operator.name}`)
        .set(operator.bearer)
        .expect(200);
      const entries = body.items as { details: object }[];
      expect(entries.map(({ details }) => details)).toEqual([
        { api: 'gmail', units: null },
        { api: 'gmail', units: 3 * CEILING },
      ]);
    });

    it('sends messages all the same', async () => {
      const to = [{ email: 'cy@elsewhere.test' }];
      const message = { to, subject: 'Beyond the ceiling', body: 'Hello' };
      await request(server.url).post('/send').set(as(google)).send(message).expect(200);
      await until('the message to leave', async () =>
        world()
          .sent()
          .some(({ subject }) => subject === 'Beyond the ceiling'),
      );
    });

    it('does not concern other companies', async () => {
      const id = await firstMessage(microsoft);
      const other = { ...as(microsoft), accept: 'message/rfc822' };
      await request(server.url).get(`/messages/${id}`).set(other).expect(200);
    });

    it('begins anew on the next day', async () => {
      await clock.pass(DAY_MS);
      expect((await raw()).status).toBe(200);
      await until('the news of yesterday', async () => (await newest()) === 'News at 91 %');
    });
  });
});
