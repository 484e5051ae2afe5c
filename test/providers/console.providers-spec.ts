import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import request from 'supertest';
import { OperatorsService } from '../../src/operator/access/operators.service.ts';
import { SYSTEM } from '../../src/platform/audit/actor.ts';
import { accessibilityFaults } from '../support/accessibility.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startBrowser } from '../support/mail-servers/browser.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { freePorts } from '../support/mail-servers/processes.ts';
import { secret } from '../support/log-watch.ts';
import { Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { registerSandbox, rowsOf } from '../support/connect.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const PASSWORD = 'correct horse battery';
/** A subject that would be markup if a page did not escape it. */
const SUBJECT = '<img src=x onerror="document.title=1"> & "quoted"';
const LONG_SUBJECT = 'Minutes of the meeting about the annual conference of all departments '
  .repeat(9)
  .trim();
const IN_A_WEEK = 7 * 86_400;

describeWith(['chromium'], 'the console in Chromium', () => {
  let server: TestApp;
  let chromium: Browser;
  let context: BrowserContext;
  let page: Page;
  let tracker: Receiver;
  let ada: TestAccount;
  let jobId: string;
  let webhookId: string;
  let applicationId: string;
  let graceId: string;
  const complaints: string[] = [];

  beforeAll(async () => {
    secret('password of an operator', PASSWORD);
    const [port = 0] = await freePorts(1);
    const address = { PORT: String(port), BASE_URL: `http://127.0.0.1:${port}` };
    server = await startTestApp({ ROLES: 'api', ...address });
    tracker = await Receiver.start();
    chromium = await startBrowser();
    context = await chromium.newContext({ reducedMotion: 'reduce' });
    context.setDefaultTimeout(60_000);
    page = await context.newPage();
    // Chromium logs everything that a page's policy forbids or that the page lacks.
    page.on('console', (message) => {
      if (message.type() === 'error' && !/status of 4\d\d/.test(message.text()))
        complaints.push(message.text());
    });
    await server.app
      .get(OperatorsService)
      .create(SYSTEM, { name: 'ada', role: 'operate', password: PASSWORD });
    graceId = await server.app
      .get(OperatorsService)
      .create(SYSTEM, { name: 'grace', role: 'read', password: null });
    await createData();
  });
  afterAll(async () => {
    await chromium.close();
    await tracker.stop();
    await server.close();
  });

  /** An application with an account, a message that is hostile to its readers, and a webhook. */
  async function createData(): Promise<void> {
    const application = await createApplication(server.app, { name: 'Front <b>desk</b>' });
    applicationId = application.id;
    await registerSandbox(server, application);
    ada = await createAccount(server.app, application, { email: 'ada@sandbox.test' });
    const trap = `${tracker.origin}/opened`;
    const { body } = await request(server.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .send({
        to: [{ email: 'grace@sandbox.test' }],
        subject: SUBJECT,
        body: `<p>Dear Grace</p><img src="${trap}.png"><script>fetch("${trap}?script")</script>
          <style>p { background: url(${trap}?style) }</style><iframe src="${trap}?frame"></iframe>
          <img src=x onerror='fetch("${trap}?handler")'><svg onload='fetch("${trap}?svg")'><text>Pay in the drawing</text></svg>
          <noscript>Pay without scripts</noscript><!--[if mso]>Pay in Outlook<![endif]-->
          <style>#cover { position: fixed; inset: 0; background: white; z-index: 9 } #message-head, dl { display: none !important }</style>
          <div id="cover">Subject: Your bank</div>`,
        send_at: Math.floor(Date.now() / 1000) + IN_A_WEEK,
      })
      .expect(202);
    jobId = body.job_status_id as string;
    await request(server.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .send({
        to: [{ email: 'linus@sandbox.test' }],
        subject: LONG_SUBJECT,
        body: 'Hello',
        send_at: Math.floor(Date.now() / 1000) + IN_A_WEEK,
      })
      .expect(202);
    const failing = { state: 'failing', failures: 3, failingSince: new Date() } as const;
    webhookId = await createWebhook(server.app, application, `${tracker.origin}/hook`, failing);
  }

  const open = (path: string) => page.goto(server.url + path);

  it('leads from the sign-in to the page that was asked for', async () => {
    await open('/console?from=link');
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByLabel('Name').fill('ada');
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The name or the password is wrong').waitFor();
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(new URL(page.url()).search).toBe('?from=link');
  });

  it('shows every page without a violation of accessibility rules, in light and dark', async () => {
    const found: string[] = [];
    for (const path of [
      '/console',
      '/console/jobs?recipient=grace@sandbox.test',
      `/console/jobs/${jobId}`,
      `/console/jobs/${jobId}/message`,
      `/console/jobs/actions/cancel?id=${jobId}`,
      '/console/accounts',
      `/console/accounts/${ada.id}`,
      `/console/accounts/${ada.id}/pause`,
      `/console/accounts/${ada.id}/tokens/new`,
      '/console/applications',
      `/console/applications/${applicationId}`,
      `/console/applications/${applicationId}/ceiling`,
      `/console/applications/${applicationId}/contact`,
      `/console/applications/${applicationId}/delete`,
      '/console/applications/new',
      '/console/capacity',
      '/console/failed-requests',
      '/console/webhooks',
      `/console/webhooks/${webhookId}`,
      `/console/webhooks/${webhookId}/replay?since=2026-01-01T00:00`,
      '/console/audit?actor=ada',
      '/console/log-level',
      '/console/operators',
      '/console/operators/new',
      `/console/operators/${graceId}`,
      `/console/operators/${graceId}/remove`,
      `/console/operators/${graceId}/tokens/new`,
      '/console/password',
      '/console/instance',
    ]) {
      const response = await open(path);
      expect([path, response?.status()]).toEqual([path, 200]);
      found.push(...(await accessibilityFaults(page)).map((one) => `${path}: ${one}`));
    }
    expect(found).toEqual([]);
  });

  it('fits a phone, and its menu opens without a script', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    for (const path of ['/console', '/console/jobs', `/console/jobs/${jobId}`]) {
      await open(path);
      const beyond = 'document.documentElement.scrollWidth - innerWidth';
      expect([path, await page.evaluate(beyond)]).toEqual([path, 0]);
    }
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  it('shows a message without running its scripts or loading its pictures', async () => {
    await open(`/console/jobs/${jobId}/message`);
    const frame = page.frameLocator('iframe');
    await frame.getByText('Dear Grace').waitFor();
    expect(await frame.locator('script, iframe, svg, [onerror]').count()).toBe(0);
    const content = await frame.locator('body').textContent();
    expect(content).toContain('Pay in the drawing');
    expect(content).toContain('Pay without scripts');
    const leftOut = page.locator('#left-out');
    await leftOut.getByText('comment: 1 time').click();
    await leftOut.getByText('Pay in Outlook').waitFor();
    await leftOut.getByText('remote picture').waitFor();
    // The message covers the whole frame, and nothing outside of it.
    const subject = page.locator('#message-head dd').first();
    expect(await subject.textContent()).toBe(SUBJECT);
    const atSubject = `(() => {
      const subject = document.querySelector('#message-head dd');
      const { x, y } = subject.getBoundingClientRect();
      return document.elementFromPoint(x + 2, y + 2) === subject;
    })()`;
    await subject.scrollIntoViewIfNeeded();
    expect(await page.evaluate(atSubject)).toBe(true);
    // The content alone, without our frame around it, is as harmless.
    await open(`/console/jobs/${jobId}/message/content`);
    await page.getByText('Dear Grace').waitFor();
    expect(await page.evaluate('document.title')).toBe('Message');
    expect(tracker.received.filter(({ url }) => url.startsWith('/opened'))).toEqual([]);
    const [{ looks } = { looks: 0 }] = await rowsOf<{ looks: number }>(
      server,
      `select count(*)::int as looks from audit_entry where action = 'job.preview' and actor_name = 'ada'`,
    );
    expect(looks).toBeGreaterThan(0);
    // The policy has refused the style's picture, which shows that it works.
    const refused = complaints.splice(0);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.filter((text) => !text.includes('img-src data:'))).toEqual([]);
  });

  it('cancels a job after it has shown what that would do', async () => {
    await open('/console/jobs');
    await page.keyboard.press('/');
    await page.keyboard.type('grace@sandbox.test');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: SUBJECT }).click();
    await page.getByRole('link', { name: 'Cancel…' }).click();
    await page.getByText('Nothing has been changed yet').waitFor();
    const status = async () =>
      (await request(server.url).get(`/job-statuses/${jobId}`).set(ada.bearer)).body.status;
    expect(await status()).toBe('pending');
    await page.getByRole('button', { name: 'Cancel 1 job' }).click();
    await page.getByRole('status').getByText('1 job cancelled').waitFor();
    await until('the job to be cancelled', async () => (await status()) === 'cancelled');
    await page.reload();
    expect(await page.getByRole('link', { name: 'Cancel…' }).count()).toBe(0);
  });

  it('makes an access token that works, and revokes it', async () => {
    await open(`/console/accounts/${ada.id}`);
    await page.getByRole('link', { name: 'Access token…' }).click();
    await page.getByRole('button', { name: 'Make the token' }).click();
    const token = (await page.locator('.secret code').textContent()) ?? '';
    secret('access token that an operator made', token);
    const me = () =>
      request(server.url)
        .get('/account')
        .set({ authorization: `Bearer ${token}` });
    expect((await me()).status).toBe(200);
    const id = await page.locator('dd').first().textContent();
    await open(`/console/accounts/${ada.id}/tokens/${id}/revoke`);
    await page.getByRole('button', { name: 'Revoke the token' }).click();
    await page.getByText('The access token is revoked').waitFor();
    expect((await me()).status).toBe(401);
  });

  it('shows long subjects in two lines, and how many items a list has', async () => {
    await open('/console/jobs?recipient=linus@sandbox.test');
    const subject = 'document.querySelector("td.main .two-lines")';
    const lines = `Math.round(${subject}.clientHeight / parseFloat(getComputedStyle(${subject}).lineHeight))`;
    expect(await page.evaluate(`[${subject}.title, ${lines}]`)).toEqual([LONG_SUBJECT, 2]);
    expect(await page.locator('.list-count').textContent()).toBe('1 job');
    await page.getByRole('link', { name: LONG_SUBJECT }).click();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(LONG_SUBJECT);
  });

  it('leads to the search of a list with the key /, and from all other pages to that of jobs', async () => {
    for (const [path, name] of [
      ['/console/accounts', 'address'],
      ['/console/audit', 'action'],
      [`/console/webhooks/${webhookId}/replay`, 'recipient'],
      ['/console/log-level', 'recipient'],
      ['/console/operators', 'recipient'],
    ] as const) {
      await open(path);
      await page.keyboard.press('/');
      await page.locator(`input[name="${name}"]:focus`).waitFor();
    }
  });

  it('creates an operator, whose link leads to a page where the operator chooses a password', async () => {
    await open('/console/operators');
    await page.getByRole('link', { name: 'Create an operator…' }).click();
    await page.getByLabel('Name').fill('linus');
    await page.getByRole('button', { name: 'Create the operator' }).click();
    const link = (await page.locator('.secret code').textContent()) ?? '';
    secret('link of an operator', new URL(link).searchParams.get('secret') ?? '');
    // Programs that show previews of links open it first.
    await request(link).get('').expect(200);
    const without = await chromium.newContext({ javaScriptEnabled: false });
    const theirs = await without.newPage();
    // The link stands on a page of another site, such as a chat.
    await theirs.goto(`${server.url.replace('127.0.0.1', 'localhost')}/health/live`);
    await theirs.setContent(`<a href="${link}">Sign in</a>`);
    await theirs.getByRole('link').click();
    await theirs.getByRole('button', { name: 'Sign in' }).dblclick();
    await theirs.getByLabel('New password').fill(PASSWORD);
    await theirs.getByRole('button', { name: 'Set the password' }).click();
    await theirs.getByText('Your password is changed').waitFor();
    await page.goto(`${server.url}/console/operators`);
    await page.getByRole('link', { name: 'linus' }).click();
    await page.getByRole('link', { name: 'Disable…' }).click();
    await page.getByRole('button', { name: 'Disable the operator' }).click();
    await page.getByText('The operator is disabled').waitFor();
    await theirs.reload();
    await theirs.getByRole('heading', { name: 'Sign in' }).waitFor();
    await theirs.context().close();
  });

  it('creates an application and gives it a new secret', async () => {
    await open('/console/applications');
    await page.getByRole('link', { name: 'Create an application…' }).click();
    await page.getByLabel('Name').fill('Back office');
    await page.getByRole('button', { name: 'Create the application' }).click();
    const shown = async () => {
      const value = (await page.locator('.secret code').textContent()) ?? '';
      secret('client secret that an operator made', value);
      return value;
    };
    const first = await shown();
    const clientId = (await page.locator('dd').first().textContent()) ?? '';
    const asks = (password: string) =>
      request(server.url).get(`/a/${clientId}/accounts`).auth(password, '');
    expect((await asks(first)).status).toBe(200);
    await page.getByRole('link', { name: 'Back office' }).click();
    await page.getByRole('link', { name: 'New client secret…' }).click();
    await page.getByRole('button', { name: 'Make a new secret' }).click();
    await page.getByRole('heading', { name: 'Client secret' }).waitFor();
    const second = await shown();
    expect([(await asks(first)).status, (await asks(second)).status]).toEqual([401, 200]);
  });

  it('makes a sign-in link for an application without a redirect address, which ends on our own page', async () => {
    await open(`/console/accounts/${ada.id}/sign-in-link`);
    await page.getByRole('button', { name: 'Make the link' }).click();
    const link = (await page.locator('.secret code').textContent()) ?? '';
    const theirs = await (await chromium.newContext()).newPage();
    await theirs.goto(link);
    await theirs.getByLabel('Password', { exact: true }).fill('anything');
    await theirs.getByRole('button', { name: 'Continue' }).click();
    await theirs.getByRole('button', { name: 'Allow', exact: true }).click();
    await theirs.getByRole('heading', { name: 'You are signed in' }).waitFor();
    expect(new URL(theirs.url()).origin).toBe(server.url);
    expect(await accessibilityFaults(theirs)).toEqual([]);
    await theirs.context().close();
  });

  it('can be used with the keyboard, from the first link to the content', async () => {
    await open('/console');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    expect(new URL(page.url()).hash).toBe('#content');
  });

  it('opens the page of a link on another site, although the cookie stays with this one', async () => {
    const elsewhere = server.url.replace('127.0.0.1', 'localhost');
    await page.goto(`${elsewhere}/health/live`);
    await page.evaluate(`location.href = ${JSON.stringify(`${server.url}/console`)}`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  it('breaks no policy of its own', () => {
    expect(complaints).toEqual([]);
  });
});
