import fs from 'node:fs';
import request from 'supertest';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { ProviderBudget } from '../../src/platform/budgets/provider-budget.ts';
import type { BudgetConfig } from '../../src/platform/config/sections/budget-config.ts';
import { APP_CONFIG } from '../../src/platform/config/app-config.ts';
import { dayOf } from '../../src/platform/quotas/quota.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { AccountListeners } from '../../src/accounts/grants/account-listeners.ts';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { AlertUsers, type FailingIssuer } from '../support/alert-users.ts';
import { AlertWorld, scrape } from '../support/alert-world.ts';
import { rowsOf } from '../support/connect.ts';
import { createAccount, createApplication } from '../support/factories.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import {
  isFree,
  isHealthy,
  type MetricsPage,
  total,
  withoutBudgets,
} from '../support/metrics-page.ts';
import { checkQueries, checkRules, judge } from '../support/promtool.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { until } from '../support/until.ts';
import { createWebhook, recordEvent } from '../support/webhook-fixture.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

describeWith(['promtool'], 'alerts', () => {
  let world: AlertWorld;
  let users: AlertUsers;
  const tested = new Set<string>();

  beforeAll(async () => {
    world = await AlertWorld.begin();
    users = await AlertUsers.begin(world);
  });
  afterAll(async () => {
    await world.end();
    await users.end();
  });

  const grown = (name: string, labels: Record<string, string>, by = 1) => {
    return (page: MetricsPage, before: MetricsPage) =>
      total(page, name, labels) - total(before, name, labels) >= by;
  };
  const shows = (before: MetricsPage, seen: (page: MetricsPage, before: MetricsPage) => boolean) =>
    until('the metrics to show it', async () => {
      const page = await world.page();
      return seen(page, before) && page;
    });
  /** Expects that an alert fires from the second page, and not from the first one. */
  const expectAlert = async (alert: string, before: MetricsPage, after: MetricsPage) => {
    tested.add(alert);
    expect(await judge(alert, before, after)).toBe('');
  };
  const expectAlertWhen = async (
    alert: string,
    breakIt: () => Promise<unknown>,
    seen: (page: MetricsPage, before: MetricsPage) => boolean,
  ) => {
    const before = await world.page();
    await breakIt();
    await expectAlert(alert, before, await shows(before, seen));
  };

  const webhookTo = (address: string) =>
    createWebhook(world.server.app, users.application, address, { triggers: ['job.failed'] });
  const withoutWebhooks = (of = users.application) =>
    rowsOf(world.server, 'delete from webhook where application_id = $1', [of.id]);

  it('load in Prometheus, and so do the queries of the dashboards', async () => {
    expect(await checkRules()).toMatchObject({ ok: true });
    const queries = fs.readdirSync('deploy/grafana').flatMap((file) => {
      const text = fs.readFileSync(`deploy/grafana/${file}`, 'utf8');
      const { panels } = JSON.parse(text) as { panels: { targets: { expr: string }[] }[] };
      return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    });
    expect(queries.length).toBeGreaterThan(50);
    const inGrafana = queries.map((query) => query.replaceAll('$__rate_interval', '5m'));
    expect(await checkQueries(inGrafana)).toMatchObject({ ok: true });
  });

  it('are silent while messages are sent, webhooks are delivered and mailboxes are synced', async () => {
    const receiver = await users.receive();
    await webhookTo(`${receiver.origin}/hook`);
    const before = await shows(new Map(), isHealthy);
    await users.send(users.ada);
    await recordEvent(world.server.app, users.application);
    const after = await shows(
      before,
      (page) =>
        isHealthy(page) &&
        grown('carillon_send_attempts_total', { outcome: 'sent' })(page, before) &&
        grown('carillon_webhook_attempts_total', { outcome: 'delivered' })(page, before) &&
        total(page, 'carillon_sync_passes_total', { result: 'current' }) > 0,
    );
    expect(await judge(null, withoutBudgets(before), withoutBudgets(after))).toBe('');
    await withoutWebhooks();
  });

  it('report a mail server that refuses messages', async () => {
    const account = await users.mailAccount({
      answer: (step) => (step === 'rcpt' ? '451 4.3.2 try again later' : undefined),
    });
    await expectAlertWhen(
      'CarillonSendsFailing',
      () => Promise.all(Array.from({ length: 6 }, () => users.send(account))),
      grown('carillon_send_attempts_total', { outcome: 'retried' }, 6),
    );
  });

  it('report connections that are lost after the content of messages', async () => {
    const account = await users.mailAccount({
      answer: (step) => (step === 'message' ? { end: 'close' } : undefined),
    });
    await expectAlertWhen(
      'CarillonUnknownOutcomes',
      () => Promise.all(Array.from({ length: 3 }, () => users.send(account))),
      grown('carillon_send_attempts_total', { outcome: 'unknown' }, 3),
    );
  });

  it('report messages that are on hold because their account was moved', async () => {
    const account = await createAccount(world.server.app, users.application);
    const sendAt = Math.floor((world.clock.now().getTime() + DAY_MS) / 1000);
    await users.send(account, 'bo@example.test', { send_at: sendAt });
    const listeners = world.server.app.get(AccountListeners);
    await expectAlertWhen(
      'CarillonMessagesHeld',
      () =>
        world.server.app
          .get(Database)
          .transaction((sql) => listeners.endWork(sql, account.id, 'moved')),
      grown('carillon_messages_held', {}),
    );
  });

  it('report a receiver of webhooks that has been down for a quarter of an hour', async () => {
    const receiver = await users.receive();
    await webhookTo(`${receiver.origin}/hook`);
    await receiver.stop();
    await expectAlertWhen(
      'CarillonWebhooksFailing',
      async () => {
        const before = await world.page();
        await recordEvent(world.server.app, users.application);
        await shows(before, grown('carillon_webhook_attempts_total', { status: 'none' }));
        await world.clock.pass(16 * MINUTE_MS);
      },
      grown('carillon_webhooks', { state: 'failing' }),
    );
    await withoutWebhooks();
  });

  it('report a webhook that was switched off', async () => {
    const receiver = await users.receive((response) => void response.writeHead(410).end());
    await webhookTo(`${receiver.origin}/gone`);
    await expectAlertWhen(
      'CarillonWebhookSwitchedOff',
      () => recordEvent(world.server.app, users.application),
      grown('carillon_webhooks', { state: 'failed' }),
    );
    await withoutWebhooks();
  });

  it('report that an application does not get the mails about its webhooks', async () => {
    const { app } = world.server;
    const application = await createApplication(app, { contactEmail: 'team@app.test' });
    const receiver = await users.receive((response) => void response.writeHead(410).end());
    await createWebhook(app, application, `${receiver.origin}/gone`);
    // There is no mail server.
    await expectAlertWhen(
      'CarillonWebhookMailsFailing',
      async () => {
        const before = await world.page();
        await recordEvent(app, application);
        await shows(before, grown('carillon_webhooks', { state: 'failed' }));
        await world.clock.pass(2 * MINUTE_MS);
      },
      grown('carillon_webhook_mails_failing', {}),
    );
    await withoutWebhooks(application);
  });

  it('report a provider whose mailboxes cannot be reached', async () => {
    // Prometheus sees no increase in a series that begins with its first event.
    const failed = grown('carillon_sync_passes_total', { provider: 'imap', result: 'failed' });
    const first = await world.page();
    await users.mailAccount({}, true);
    await shows(first, failed);
    await expectAlertWhen('CarillonSyncFailing', () => users.mailAccount({}, true), failed);
  });

  describe('about tokens', () => {
    let issuer: FailingIssuer;
    beforeAll(async () => {
      issuer = await users.issuer();
    });

    it('report that the issuer refuses to refresh them', async () => {
      // Prometheus sees no increase in a series that begins with its first event.
      issuer.answer = { status: 400, error: 'invalid_grant' };
      await issuer.refreshThree();
      await expectAlertWhen(
        'CarillonTokensNotRefreshed',
        () => issuer.refreshThree(),
        grown('carillon_token_refreshes_total', { result: 'refused' }, 3),
      );
    });

    it('report a service of a provider that is down', async () => {
      issuer.answer = { status: 503, error: 'temporarily_unavailable' };
      await issuer.refreshThree();
      await expectAlertWhen(
        'CarillonProviderErrors',
        () => issuer.refreshThree(),
        grown('carillon_provider_requests_total', { service: 'OAuth', status: '503' }, 3),
      );
    });
  });

  it('report a request quota of a provider that is nearly used up', async () => {
    const budget = world.server.app.get(ProviderBudget);
    const take = (cost: number) =>
      budget.take([{ key: 'alerts:one', limit: { units: 100, seconds: 60 }, cost }], 'send');
    await expectAlertWhen(
      'CarillonProviderBudgetLow',
      async () => {
        await take(24.9);
        await take(0.1);
      },
      (page) => total(page, 'carillon_provider_budget_left_ratio', { provider: 'alerts' }) < 0.1,
    );
  });

  it('report an application near its ceiling at a company, and calls that will cost money', async () => {
    const { budgets } = world.server.app.get<{ budgets: BudgetConfig }>(APP_CONFIG);
    const { apiUse } = budgets;
    const use = (units: number) => () =>
      rowsOf(
        world.server,
        `insert into api_use (application_id, api, day, units)
         select id, 'gmail', $2::date, $3 from application where client_id = $1
         on conflict (application_id, api, day) do update set units = excluded.units`,
        [users.application.clientId, dayOf(world.clock.now()), units],
      );
    apiUse.ceilings.gmail = 100_000_000;
    await expectAlertWhen(
      'CarillonCallsWillCost',
      use(81_000_000),
      grown('carillon_company_api_paid_forecast_units', { api: 'gmail' }),
    );
    apiUse.ceilings.gmail = 100;
    await use(79)();
    await shows(
      new Map(),
      (page) => total(page, 'carillon_company_api_ceiling_used_ratio') === 0.79,
    );
    await expectAlertWhen(
      'CarillonCeilingNear',
      use(80),
      (page) => total(page, 'carillon_company_api_ceiling_used_ratio') === 0.8,
    );
    apiUse.ceilings.gmail = 0;
  });

  it('report mirrors that differ from their mailboxes', async () => {
    const audited = grown('carillon_audit_compared_objects_total', { kind: 'messages' }, 3);
    const unaudited = await world.page();
    const { id } = await createAccount(world.server.app, users.application, {
      mirrored: true,
      settings: { sample_messages: true },
    });
    await shows(unaudited, audited);
    await expectAlertWhen(
      'CarillonMirrorsDiffer',
      async () => {
        await rowsOf(
          world.server,
          'delete from message where id = (select min(id::text)::uuid from message where account_id = $1)',
          [id],
        );
        await world.clock.pass(8 * DAY_MS);
        await scheduleSync(world.server.app.get(Database), id);
      },
      (page, before) =>
        audited(page, before) &&
        grown('carillon_audit_differences_total', { kind: 'messages' })(page, before),
    );
  });

  it('report that the database failed over', () =>
    expectAlertWhen(
      'CarillonDatabaseFailedOver',
      () =>
        rowsOf(
          world.server,
          `update instance set failover = jsonb_build_object(
             'from', 1, 'to', 2, 'at', now(), 'since', now(), 'synchronous', false, 'rows', 0)`,
        ),
      grown('carillon_database_failover_timestamp_seconds', {}),
    ));

  it('report work that ends with an unexpected error', async () => {
    const { id, ...account } = await createAccount(world.server.app, users.application);
    await expectAlertWhen(
      'CarillonUnexpectedErrors',
      async () => {
        await rowsOf(world.server, 'update "grant" set settings_sealed = $2 where id = $1', [
          id,
          'damaged',
        ]);
        await users.send({ id, ...account });
      },
      grown('carillon_queue_errors_total', { queue: 'send' }),
    );
  });

  it('report requests that fail', async () => {
    const client = await world.client();
    await client.query('alter table contact rename to misplaced');
    const contacts = () =>
      request(world.server.url).get('/contacts').set(users.ada.bearer).expect(500);
    await contacts();
    await expectAlertWhen(
      'CarillonServerErrors',
      contacts,
      grown('carillon_http_requests_total', { status: '500' }),
    );
    await client.query('alter table misplaced rename to contact');
    await client.end();
  });

  it('report many requests with wrong credentials', () =>
    expectAlertWhen(
      'CarillonLoginsRefused',
      async () => {
        for (let sent = 0; sent < 101; sent += 1)
          await request(world.server.url)
            .get('/account')
            .set('authorization', 'Bearer wrong')
            .expect(401);
      },
      grown('carillon_logins_refused_total', { of: 'access-token' }, 101),
    ));

  it('report many simultaneous requests above a limit', async () => {
    const before = await world.page();
    const isEnough = grown('carillon_requests_limited_total', { by: 'account' }, 101);
    const after = await until('enough refused requests', async () => {
      const burst = Array.from({ length: 300 }, async () => {
        const answer = await fetch(`${world.server.url}/threads`, { headers: users.ada.bearer });
        await answer.arrayBuffer();
      });
      await Promise.all(burst);
      const page = await world.page();
      return isEnough(page, before) && page;
    });
    await expectAlert('CarillonRequestsLimited', before, after);
  });

  it('report statements that wait for a connection, and metrics that cannot be read', async () => {
    const before = await world.page();
    const client = await world.client();
    await client.query('begin; lock table job_status; lock table webhook');
    const requests = Array.from({ length: 12 }, () =>
      request(world.server.url)
        .get(`/job-statuses/${newId()}`)
        .set(users.ada.bearer)
        .then(({ status }) => status),
    );
    const waiting = grown('carillon_database_pool_waiting', { pool: 'carillon' });
    const after = await shows(before, waiting).finally(() => client.end());
    await Promise.all(requests);
    await expectAlert('CarillonPoolExhausted', before, after);
    await expectAlert('CarillonMetricsIncomplete', before, after);
  });

  it('report a database that has hardly any connections left', async () => {
    const name = new URL(world.server.database.url).pathname.slice(1);
    const before = await world.page();
    const client = await world.client();
    // Pools close connections that are idle, so the limit follows them until both are on one page.
    const after = await until('hardly any connection to be left', async () => {
      const limit = total(await world.page(), 'carillon_database_connections') + 1;
      await client.query(`alter database ${name} connection limit ${limit}`);
      const page = await world.page();
      const isShown = total(page, 'carillon_database_connections_max') === limit;
      return isShown && total(page, 'carillon_database_connections') >= limit - 1 && page;
    });
    await client.query(`alter database ${name} connection limit -1`);
    await client.end();
    await expectAlert('CarillonDatabaseConnectionsLow', before, after);
  });

  it('report a disk that is nearly full', async () => {
    const { database } = world.server.app.get<{ database: { diskGigabytes: number | null } }>(
      APP_CONFIG,
    );
    const before = await world.page();
    database.diskGigabytes = 0.001;
    const after = await world.page();
    database.diskGigabytes = null;
    await expectAlert('CarillonDatabaseDiskFull', before, after);
  });

  it('report an event loop that is blocked', async () => {
    const before = await shows(new Map(), isFree);
    const after = await until('the delay to show', async () => {
      const end = performance.now() + 600;
      while (performance.now() < end);
      const page = await world.page();
      return !isFree(page) && page;
    });
    await expectAlert('CarillonEventLoopBlocked', before, after);
  });

  describe('about a frozen worker', () => {
    let frozen: ServerProcess;
    let up: [before: MetricsPage, after: MetricsPage];
    let pages: [before: MetricsPage, after: MetricsPage];
    let taken: [before: MetricsPage, after: MetricsPage];

    /** The only worker freezes with a message in its hands. Its successor finds its work. */
    beforeAll(async () => {
      const silent = await users.mailAccount({
        answer: (step) => (step === 'mail' ? { end: 'silence' } : undefined),
      });
      await world.stopWorker();
      const worker = await world.startWorkerProcess();
      frozen = worker.process;
      await users.send(silent);
      const claimed = { queue: 'send' };
      const before = await shows(
        new Map(),
        (page) =>
          total(page, 'carillon_queue_claimed_rows', claimed) === 1 &&
          total(page, 'carillon_workers', { state: 'alive' }) === 1,
      );
      const answered = await scrape(worker.operators);
      frozen.pause();
      up = [answered, await scrape(worker.operators)];
      await users.send(users.ada);
      await users.remind();
      await scheduleSync(world.server.app.get(Database), users.ada.id);
      await world.clock.pass(20 * MINUTE_MS);
      pages = [
        before,
        await shows(
          before,
          (page) =>
            total(page, 'carillon_workers', { state: 'silent' }) === 1 &&
            total(page, 'carillon_queue_overdue_rows', { queue: 'reminder' }) === 1 &&
            total(page, 'carillon_sync_lag_seconds') > 0,
        ),
      ];
      await world.startWorker();
      taken = [
        pages[1],
        await shows(
          pages[1],
          (page, earlier) =>
            grown('carillon_worker_deaths_total', {})(page, earlier) &&
            grown('carillon_messages_quarantined', {})(page, earlier) &&
            grown('carillon_queue_lateness_seconds_count', { queue: 'send' })(page, earlier),
        ),
      ];
    });
    afterAll(async () => {
      frozen.resume();
      await frozen.kill();
    });

    it('report that the process does not answer', () => expectAlert('CarillonProcessDown', ...up));

    it('report that no worker is alive', () => expectAlert('CarillonNoWorker', ...pages));

    it('report due messages that nobody claims', () => expectAlert('CarillonQueueStuck', ...pages));

    it('report late reminders', () => expectAlert('CarillonRemindersLate', ...pages));

    it('report mailboxes that are behind', () => expectAlert('CarillonSyncBehind', ...pages));

    it('report the worker once another one has taken over its work', () =>
      expectAlert('CarillonWorkerDied', ...taken));

    it('report the message that was in its hands', () =>
      expectAlert('CarillonMessagesQuarantined', ...taken));

    it('report messages that were sent late', () => expectAlert('CarillonSendsLate', ...taken));
  });

  it('report encryption keys that do not open the stored secrets', async () => {
    await expectAlert('CarillonNotReady', await world.page(), await world.pageWithWrongKeys());
  });

  it('report a process whose clock differs from the database', async () => {
    await expectAlert('CarillonClockApart', await world.page(), await world.pageWithWrongClock());
  });

  it('are all tested here, but for those about standbys and the object store', () => {
    const rules = fs.readFileSync('deploy/alerts.yml', 'utf8');
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
    // In test/faults/failover with a real standby, and in test/e2e/body-objects.
    const elsewhere = [
      'CarillonCommitsNotSynchronous',
      'CarillonCommitsWait',
      'CarillonObjectsDamaged',
      'CarillonObjectStoreAway',
      'CarillonReadsDiverted',
      'CarillonStandbyLags',
    ];
    expect([...tested, ...elsewhere].toSorted()).toEqual(alerts.toSorted());
  });
});
