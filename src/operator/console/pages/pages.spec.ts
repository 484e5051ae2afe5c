import * as accounts from '../../../../test/support/console/account-samples.ts';
import * as jobs from '../../../../test/support/console/job-samples.ts';
import {
  apiUseListSample,
  apiUseSample,
  ceilingSamples,
} from '../../../../test/support/console/api-use-sample.ts';
import { overviewSample } from '../../../../test/support/console/overview-sample.ts';
import type { Viewer } from '../kit/actions.ts';
import { type ConsolePage, consolePage } from '../kit/layout.ts';
import { accountPage } from './account.page.ts';
import { actionPage, reasonField, secretPage, typedField } from './action.page.ts';
import {
  operatorSamples,
  operatorTokenSample,
  refusalSample,
} from '../../../../test/support/console/operator-samples.ts';
import type { ListedOperator } from '../../access/operators.service.ts';
import { confirmInstancePage, instancePage } from '../instance/instance.page.ts';
import { operatorPage, operatorsPage } from '../operators/operators.page.ts';
import { ownPasswordPage } from '../operators/own-password.page.ts';
import { auditPage } from './audit.page.ts';
import { logLevelPage } from './log-level.page.ts';
import { accountsPage } from './accounts.page.ts';
import { applicationPage, applicationsPage } from './applications.page.ts';
import { concernsOf } from './overview/attention.ts';
import { capacityPage } from './capacity.page.ts';
import { failedRequestsPage } from './failed-requests.page.ts';
import { jobPage } from './job.page.ts';
import { jobActionPage, jobsPage } from './jobs.page.ts';
import { messagePage } from './message.page.ts';
import { overviewPage } from './overview/overview.page.ts';
import { problemPage } from './problem.page.ts';
import { signInPage } from './sign-in.page.ts';
import { replayPage, webhookPage } from './webhook.page.ts';
import { webhooksPage } from './webhooks.page.ts';

const now = new Date('2026-11-24T03:40:00Z');
const OPERATOR: Viewer = { name: 'ada', role: 'operate', csrfToken: 'token' };
const READER: Viewer = { ...OPERATOR, role: 'read' };
const MARKUP = `"'><img src=x onerror=alert(1)><script>alert(1)</script>\u0060`;
const list = <T>(items: T[]) => ({
  items,
  nextPageToken: null,
  pageToken: undefined,
  from: 1,
  total: items.length,
});
const plain = (words: string) => words;

const NO_SENDS = {
  sent: 0,
  retried: 0,
  failed: 0,
  unknown: 0,
  lateP50Seconds: null,
  lateP99Seconds: null,
};

/** Every page, with the given words wherever others have written them. */
function pages(viewer: Viewer, text: (words: string) => string): Record<string, string> {
  const view = { now, notice: null };
  const filter = { recipient: text('ada'), state: 'failed' };
  const webhook = jobs.webhookSample(now, text);
  const operators = operatorSamples(now, text);
  const tokens = [accounts.tokenSample(now)];
  const form = {
    since: text(''),
    until: '',
    failed: false,
    undeliveredOnly: true,
    eventId: text(''),
  };
  const replay = { matched: 20, queued: 18, running: 1, reachesBackTo: now, dryRun: true };
  const result = jobs.bulkSample(now, text);
  const rendered: Record<string, ConsolePage> = {
    overview: overviewPage(overviewSample(now, text)),
    'failed requests': failedRequestsPage(overviewSample(now, text).requests, now),
    jobs: jobsPage(viewer, list(jobs.jobSamples(now, text)), filter, view),
    'no jobs': jobsPage(viewer, list([]), filter, view),
    job: jobPage(viewer, jobs.jobDetailsSample(now, text), { ...view, previewable: true }),
    action: jobActionPage(viewer, 'cancel', { result, filter, now }),
    accounts: accountsPage(list(accounts.accountSamples(now, text)), filter, view),
    account: accountPage(viewer, accounts.accountSample(now, text), {
      ...view,
      tokens,
      proof: accounts.proofSample(now),
    }),
    webhooks: webhooksPage(list([webhook]), filter, view),
    webhook: webhookPage(viewer, webhook, list(jobs.attemptSamples(now, text)), view),
    replay: replayPage(viewer, webhook, form, replay, null),
    applications: applicationsPage(
      viewer,
      list([accounts.applicationSample(now, text)]),
      filter,
      view,
    ),
    application: applicationPage(viewer, accounts.applicationSample(now, text), {
      ...view,
      use: apiUseListSample(now, text),
      ceilings: ceilingSamples(),
      sendsMail: false,
    }),
    capacity: capacityPage(accounts.capacitySample(now, text)),
    audit: auditPage(list(accounts.auditSamples(now, text)), filter, now),
    operators: operatorsPage(viewer, operators, view),
    operator: operatorPage(
      viewer,
      operators[1] as ListedOperator,
      [operatorTokenSample(now, text)],
      { ...view, own: false },
    ),
    'disabled operator': operatorPage(viewer, operators[2] as ListedOperator, [], {
      ...view,
      own: false,
    }),
    'own password': ownPasswordPage(viewer, {
      hasPassword: true,
      issuer: null,
      errors: { current: text('wrong') },
      notice: null,
    }),
    instance: instancePage(viewer, undefined, refusalSample(text), view),
    'confirm instance': confirmInstancePage(viewer, refusalSample(text)),
    'log level': logLevelPage(viewer, { level: 'debug', until: now }, ['info', 'debug'], view),
    pause: actionPage(viewer, {
      section: 'accounts',
      title: `Pause ${text('ada')}?`,
      consequences: 'Its messages wait.',
      crumbs: [{ path: '/console/accounts', label: text('ada') }],
      path: '/console/accounts/1/pause',
      fields: [reasonField('For others.'), typedField(text('front-desk'))],
      button: 'Pause',
      back: '/console/accounts/1',
    }),
    secret: secretPage({
      section: 'accounts',
      title: 'Access token',
      text: 'For the application.',
      what: 'token',
      value: text('secret'),
      crumbs: [],
      more: [],
    }),
    message: messagePage(jobs.jobDetailsSample(now, text), jobs.messageSample(text), [
      { what: text('<form>'), count: 1, text: text('x') },
    ]),
  };
  const signIn = { name: text('ada'), to: text('/console'), error: text('wrong'), oidc: true };
  return {
    'sign-in': signInPage(signIn),
    problem: problemPage(text('gone')),
    ...Object.fromEntries(
      Object.entries(rendered).map(([name, page]) => [name, consolePage(viewer, page)]),
    ),
  };
}

describe('pages of the console', () => {
  it('escape every text that others have written', () => {
    for (const [name, page] of Object.entries(pages(OPERATOR, (words) => words + MARKUP))) {
      expect([name, page.includes('<img'), page.includes('<script>')]).toEqual([
        name,
        false,
        false,
      ]);
      // A quote in a value would end its attribute.
      expect([name, page.includes(`"'>`)]).toEqual([name, false]);
      expect([name, page.includes('&lt;img') || name === 'log level']).toEqual([name, true]);
    }
  });

  it('have no styles and no handlers in their markup, which their policy would not allow', () => {
    for (const [name, page] of Object.entries(pages(OPERATOR, plain)))
      expect([name, / (?:style|on[a-z]+)="/.exec(page)]).toEqual([name, null]);
  });

  it('show an operator with the role read no form and no link that changes something', () => {
    const changing =
      /method="post" action="(?!\/console\/(?:sign-|password))|class="button(?: \w+)* danger"|…<\/a>/;
    // Pages of actions are refused before they are rendered (operators.hostile-spec.ts).
    const { action: _, replay: __, 'confirm instance': ___, ...shown } = pages(READER, plain);
    for (const [name, page] of Object.entries(shown))
      expect([name, changing.exec(page)?.[0]]).toEqual([name, undefined]);
  });

  it('name what needs attention, the worst first, and say when nothing does', () => {
    const overview = overviewSample(now, plain);
    const concerns = concernsOf(overview);
    expect(concerns.slice(0, 4).map(({ tone, title }) => [tone, title])).toEqual([
      [
        'bad',
        'Not ready: keys ENCRYPTION_KEYS lacks "2026"; secrets in this database are encrypted with it',
      ],
      ['bad', 'The database failed over 9 min ago; up to 5 s may be missing'],
      ['bad', '1 message in quarantine'],
      ['bad', '1 webhook switched off'],
    ]);
    expect(concerns.map(({ title }) => title)).toEqual(
      expect.arrayContaining([
        'Worker 13 has been silent for 42 s',
        'Worker 9 was lost 10 min ago',
        'Worker 7 was lost 30 min ago',
      ]),
    );
    expect(concerns.map(({ title }) => title)).toEqual(
      expect.arrayContaining([
        '131 of 2,140 requests answered with 5xx in the last 5 minutes',
        '12 accounts at mail.acme.example:993 (IMAP) cannot be synced',
        'The clocks of mail-worker-2 and of the database differ by 4.2 s',
      ]),
    );
    const restored = { name: 'instance', problem: 'this database was restored or moved (name)' };
    const [process] = overview.processes;
    const refusing = {
      ...overview,
      processes: [{ ...process, problems: [restored] }],
    } as typeof overview;
    expect(concernsOf(refusing)[0]).toMatchObject({
      title: expect.stringContaining('Not ready: instance'),
      link: { path: '/console/instance' },
    });
    expect(concerns.slice(4).every(({ tone }) => tone === 'warning')).toBe(true);
    const worker = { ...overview.workers[0], silentSeconds: 600 } as (typeof overview.workers)[0];
    expect(concerns.map(({ title, link }) => [title, link?.path]).slice(-2)).toEqual([
      [
        '1,840 requests above a limit within 4 min: account ada@example.test, application Acme CRM',
        '/console/accounts/019aa1b2-0000-7000-8000-000000000001',
      ],
      ['64 requests with wrong credentials within 1 min: network address 192.0.2.7', undefined],
    ]);
    expect(concernsOf({ ...overview, processes: [], workers: [worker] })[0]?.title).toBe(
      'No worker is running',
    );
    const well = {
      ...overview,
      requests: { minutes: [], failures: [] },
      processes: [],
      failover: null,
      failingServers: [],
      queues: [],
      sync: [],
      quarantinedMessages: 0,
      invalidAccounts: 0,
      refusals: [],
      disk: { limitBytes: null, source: null, freeBytes: null, fullAt: null },
      webhooks: { active: 1, inactive: 0, failing: 0, failed: 0, paused: 1 },
      workers: overview.workers.slice(0, 1),
      lostWorkers: [],
      sending: {
        ...overview.sending,
        figures: { ...overview.sending.figures, failed: 0, unknown: 0 },
      },
    };
    expect(concernsOf(well)).toEqual([]);
    const disk = { limitBytes: 100, source: 'setting', freeBytes: 9, fullAt: null } as const;
    const minutes = well.sending.minutes.map(({ at }) => ({
      at,
      figures: { ...NO_SENDS, retried: 1 },
    }));
    const down = { ...well, disk, invalidAccounts: 1, sending: { ...well.sending, minutes } };
    expect(concernsOf(down).map(({ tone, title }) => [tone, title])).toEqual([
      ['bad', 'The disk of the database is 91 % full: 9 B left'],
      ['bad', '5 of 5 attempts to send failed in the last 5 minutes'],
      ['warning', '1 account must sign in again'],
    ]);
    expect(consolePage(OPERATOR, overviewPage(well))).toContain('Nothing needs attention');
    expect(
      (['none', 'link'] as const).flatMap((missingAccess) =>
        concernsOf({ ...well, missingAccess }).map(({ tone, title }) => [tone, title]),
      ),
    ).toEqual([
      ['bad', 'No enabled operator has the role operate'],
      ['warning', 'No operator with the role operate can sign in without a link'],
    ]);
    const failover = { ...overview.failover, synchronous: true } as typeof overview.failover;
    expect(concernsOf({ ...well, failover })).toMatchObject([
      { tone: 'warning', title: 'The database failed over 9 min ago' },
    ]);
  });

  it('name applications near a ceiling of a company, and use that will cost money', () => {
    const overview = overviewSample(now, plain);
    const used = (today: number) => apiUseSample(plain, { today });
    const paid = apiUseSample(plain, { today: 1, paidForecast: 64_000_000, costForecast: 32 });
    const concerns = concernsOf({
      ...overview,
      apiUse: [used(51_000_000), used(60_000_000), paid],
    });
    const ours = concerns.filter(
      ({ title }) => title.includes('Acme CRM') && title.includes('Gmail'),
    );
    expect(ours.map(({ tone, title }) => [tone, title])).toEqual([
      ['bad', 'Application Acme CRM has used 100 % of its ceiling of Gmail today'],
      ['warning', 'Application Acme CRM has used 85 % of its ceiling of Gmail today'],
      ['warning', 'Calls of Gmail by application Acme CRM will cost money this month'],
    ]);
    expect(ours[2]?.text).toContain('About 64,000,000 units above the free ones of each day');
    expect(ours[2]?.text).toContain('a price of 32.00');
    expect(ours[0]?.link?.path).toBe('/console/applications/acme');
  });

  it('of an empty list say how to find more', () => {
    expect(pages(OPERATOR, plain)['no jobs']).toContain('No job matches');
  });
});
