import { mkdirSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import request from 'supertest';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { registerSandbox, rowsOf } from '../support/connect.ts';
import { startBrowser } from '../support/mail-servers/browser.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { MailServers } from '../support/mail-servers/mail-servers.ts';
import { freePorts } from '../support/mail-servers/processes.ts';
import { Receiver } from '../support/receiver.ts';
import { startProgram } from '../support/npm-script.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

/**
 * Folder for a picture of every page, in light and dark, wide and narrow. No pictures are taken if
 * it is not set.
 */
const PICTURES = process.env['SIGN_IN_PICTURES'];

describeWith(['chromium', 'dovecot', 'exim4'], 'the sign-in pages in Chromium', () => {
  let server: TestApp;
  let mail: MailServers;
  let application: TestApplication;
  let app: Receiver;
  let chromium: Browser;
  let context: BrowserContext;
  let page: Page;
  let complaints: string[];

  beforeAll(async () => {
    const [port = 0] = await freePorts(1);
    server = await startTestApp({
      PORT: String(port),
      BASE_URL: `http://127.0.0.1:${port}`,
      ROLES: 'api',
    });
    app = await Receiver.start();
    mail = await MailServers.start({ oauth: true });
    chromium = await startBrowser();
  });
  beforeEach(async () => {
    application = await createApplication(server.app, { name: 'Front desk' });
    await registerSandbox(server, application, { redirect_uris: [`${app.origin}/cb`] });
    complaints = [];
    await begin({});
  });
  afterEach(() => context.close());
  afterAll(async () => {
    await chromium.close();
    await app.stop();
    await server.close();
    await mail.stop();
  });

  /** Opens a new browser profile. */
  async function begin(options: Parameters<Browser['newContext']>[0]): Promise<void> {
    context = await chromium.newContext(options);
    // The same limit as `until`.
    context.setDefaultTimeout(60_000);
    page = await context.newPage();
    // Chromium logs everything that a page's policy forbids or that the page lacks.
    page.on('console', (message) => {
      if (message.type() === 'error' && !/status of 4(10|22)/.test(message.text()))
        complaints.push(message.text());
    });
  }
  const linkFor = async (change: object = {}): Promise<string> => {
    const asked = { provider: 'sandbox', redirect_uri: `${app.origin}/cb`, state: 's1', ...change };
    const { body } = await request(server.url)
      .post('/connect/auth')
      .set(application.basic)
      .send(asked)
      .expect(200);
    return body.data.url as string;
  };
  const returned = async (): Promise<Record<string, string>> => {
    await page.waitForURL(`${app.origin}/cb*`);
    return Object.fromEntries(new URL(page.url()).searchParams);
  };
  /** The browser gives a field the focus some time after the field appears. */
  const hasFocus = (field: Locator) =>
    until('the field to have the focus', () =>
      field.evaluate((element) => element === element.ownerDocument.activeElement),
    );
  const grants = async () =>
    (await request(server.url).get('/connect/grants').set(application.basic).expect(200)).body
      .data as object[];
  async function picture(name: string): Promise<void> {
    if (PICTURES === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1280, 360]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 800 });
        await page.screenshot({
          path: `${PICTURES}/${name}-${colorScheme}-${width}.png`,
          fullPage: true,
        });
      }
    }
    await page.setViewportSize({ width: 1280, height: 720 });
  }
  const fill = async (email: string, password: string): Promise<void> => {
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Continue' }).click();
  };

  it('lead from the link to the application', async () => {
    await page.goto(await linkFor({ scope: ['email.modify', 'email.send', 'calendar'] }));
    await picture('credentials');
    await fill('ada@sandbox.test', 'anything');
    await page.getByRole('heading', { name: 'Allow Front desk to use your account?' }).waitFor();
    await picture('consent');
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    expect(await returned()).toMatchObject({
      success: 'true',
      email: 'ada@sandbox.test',
      state: 's1',
    });
    expect(await grants()).toHaveLength(1);
    expect(complaints).toEqual([]);
  });

  it('lead to the application even if a button is pressed twice', async () => {
    await page.goto(await linkFor());
    await page.getByLabel('Email address').fill('ada@sandbox.test');
    await page.getByLabel('Password', { exact: true }).fill('anything');
    await page.getByRole('button', { name: 'Continue' }).dblclick();
    await page.getByRole('heading', { name: 'Allow Front desk to use your account?' }).waitFor();
    // The second press may load the page once more and lose the click. Then the button is pressed
    // again.
    const allow = page.getByRole('button', { name: 'Allow', exact: true });
    await until('the application', async () => {
      if (await allow.isVisible()) await allow.dblclick({ timeout: 5_000 }).catch(() => undefined);
      return page.waitForURL(`${app.origin}/cb*`, { timeout: 5_000 }).then(
        () => true,
        () => false,
      );
    });
    expect(await returned()).toMatchObject({
      success: 'true',
      email: 'ada@sandbox.test',
      state: 's1',
    });
    expect(await grants()).toHaveLength(1);
  });

  it('show an error at its field and move the focus there', async () => {
    await page.goto(await linkFor());
    await fill('ada@sandbox.test', 'wrong');
    await page.getByRole('alert').waitFor();
    await picture('wrong-password');
    const password = page.getByLabel('Password', { exact: true });
    expect(await password.getAttribute('aria-invalid')).toBe('true');
    const described = (await password.getAttribute('aria-describedby')) ?? '';
    const words = await Promise.all(
      described.split(' ').map((id) => page.locator(`#${id}`).textContent()),
    );
    expect(words.join(' ')).toContain('refused to sign you in');
    await hasFocus(password);
    await password.fill('right');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    expect(await returned()).toMatchObject({ success: 'true' });
  });

  it('connect a mailbox in the Express application of the examples', async () => {
    const [port = 0] = await freePorts(1);
    const origin = `http://localhost:${port}`;
    await request(server.url)
      .put(`/a/${application.clientId}`)
      .set(application.secretBasic)
      .send({ redirect_uris: [`${origin}/callback`] })
      .expect(200);
    const example = startProgram(process.execPath, ['examples/sign-in-express/app.mjs'], {
      CARILLON_API_URL: server.url,
      CARILLON_CLIENT_ID: application.clientId,
      CARILLON_CLIENT_SECRET: application.clientSecret,
      PROVIDER: 'sandbox',
      PORT: String(port),
    });
    try {
      await example.printed(`Open ${origin}`);
      expect((await request(origin).get('/callback?success=true&code=x&state=y')).status).toBe(403);
      await page.goto(origin);
      await page.getByRole('link', { name: 'Connect your mailbox' }).click();
      await fill('ada@sandbox.test', 'anything');
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      await page.getByRole('heading', { name: 'ada@sandbox.test' }).waitFor();
      expect(page.url()).toBe(`${origin}/`);
    } finally {
      example.child.kill();
      await example.ended;
    }
  });

  it('let the user return to the application', async () => {
    await page.goto(await linkFor());
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByRole('heading', { name: 'Stop signing in?' }).waitFor();
    await picture('cancel');
    await page.getByRole('button', { name: 'Return to Front desk' }).click();
    expect(await returned()).toMatchObject({
      success: 'false',
      error: 'access_denied',
      state: 's1',
    });
    expect(await grants()).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('explain that a link is used, expired or unknown', async () => {
    const link = await linkFor();
    await page.goto(link);
    await fill('ada@sandbox.test', 'x');
    await page.getByRole('button', { name: 'Do not allow' }).click();
    await returned();
    expect((await page.goto(link))?.status()).toBe(410);
    await page.getByRole('heading', { name: 'already used' }).waitFor();
    await picture('used');
    const late = await linkFor();
    await rowsOf(
      server,
      "update login_request set expires_at = now() - interval '1 s' where state = 'open'",
    );
    expect((await page.goto(late))?.status()).toBe(410);
    await page.getByRole('heading', { name: 'has expired' }).waitFor();
    expect((await page.goto(`${server.url}/connect/login?id=nothing`))?.status()).toBe(404);
    expect(await grants()).toEqual([]);
  });

  it('let the same account sign in again', async () => {
    const ada = await createAccount(server.app, application, {
      email: 'ada@sandbox.test',
      status: 'invalid',
    });
    await page.goto(await linkFor({ grant_id: ada.id }));
    await page.getByRole('heading', { name: 'Sign in again' }).waitFor();
    await fill('bo@sandbox.test', 'x');
    await page.getByText('Sign in as ada@sandbox.test').first().waitFor();
    await fill('ada@sandbox.test', 'x');
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    expect(await returned()).toMatchObject({ success: 'true', grant_id: ada.id });
  });

  it('can be used without a mouse', async () => {
    await page.goto(await linkFor());
    // The first empty field of the page has the focus.
    await hasFocus(page.getByLabel('Email address'));
    await page.keyboard.type('ada@sandbox.test');
    await page.keyboard.press('Tab');
    await page.keyboard.type('anything');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Allow', exact: true }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await returned()).toMatchObject({ success: 'true' });
  });

  it('can be used without JavaScript', async () => {
    await context.close();
    await begin({ javaScriptEnabled: false });
    await page.goto(await linkFor());
    await fill('ada@sandbox.test', 'anything');
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    expect(await returned()).toMatchObject({ success: 'true' });
  });

  it('close a window that an application has opened for them', async () => {
    await page.goto(`${app.origin}/opener`);
    const link = await linkFor();
    const [popup] = await Promise.all([
      context.waitForEvent('page'),
      page.evaluate(`void window.open(${JSON.stringify(link)}, '_blank')`),
    ]);
    page = popup;
    await fill('ada@sandbox.test', 'x');
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await returned();
    expect(await page.evaluate('window.opener !== null')).toBe(true);
  });

  it('cannot be shown in a frame', async () => {
    const link = await linkFor();
    await page.goto(`${app.origin}/framing`);
    await page.evaluate(
      `new Promise((done) => { const f = document.createElement('iframe'); f.src = ${JSON.stringify(link)}; f.onload = done; document.body.append(f); })`,
    );
    expect(await page.frames()[1]?.locator('form').count()).toBe(0);
    await until('the complaint', async () => complaints.join().includes('frame'));
  });

  it('also start at /oauth/authorize, with a choice of providers and a page for errors', async () => {
    const query = new URLSearchParams({
      client_id: application.clientId,
      redirect_uri: `${app.origin}/cb`,
    });
    await page.goto(`${server.url}/oauth/authorize?${query.toString()}`);
    await picture('choose');
    query.set('redirect_uri', 'https://evil.example/');
    expect((await page.goto(`${server.url}/oauth/authorize?${query.toString()}`))?.status()).toBe(
      400,
    );
    await picture('redirect');
  });

  describe('for mailboxes of real servers', () => {
    const registerImap = (settings: object) =>
      request(server.url)
        .post('/connect/integrations')
        .set(application.basic)
        .send({
          name: 'Example Mail',
          provider: 'imap',
          settings,
          redirect_uris: [`${app.origin}/cb`],
        })
        .expect(200);
    const serversOf = () => {
      const { imap_host, imap_port, imap_security, smtp_host, smtp_port, smtp_security } =
        mail.settingsOf({
          email: '',
          password: '',
        });
      return { imap_host, imap_port, imap_security, smtp_host, smtp_port, smtp_security };
    };
    const withIssuer = () => ({
      ...serversOf(),
      // Exim accepts passwords only.
      smtp_port: mail.dovecot.ports.submission,
      issuer: mail.issuer?.url,
      client_id: mail.issuer?.clientId,
      client_secret: mail.issuer?.clientSecret,
    });
    const atIssuer = async (email: string): Promise<void> => {
      await page.waitForURL(`${mail.issuer?.url}/**`);
      await page.locator('input[name=login]').fill(email);
      await page.locator('input[name=password]').fill('any');
      await page.locator('button[type=submit]').click();
      await page.getByRole('button', { name: 'Continue' }).click();
    };

    it('ask for servers that cannot be discovered, and distinguish a wrong password from a wrong server', async () => {
      const user = await mail.addUser();
      const servers = serversOf();
      await registerImap({});
      await page.goto(await linkFor({ provider: 'imap' }));
      await picture('imap');
      await fill(user.email, 'x');
      await page.getByText('could not find the mail servers').first().waitFor();
      await picture('imap-servers');
      await page.goto(await linkFor({ provider: 'imap', settings: servers }));
      await picture('imap-given');
      await fill(user.email, 'wrong-password');
      await page.getByText('The server refused to sign you in').first().waitFor();
      await picture('imap-refused');
      await fill(user.email, user.password);
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      expect(await returned()).toMatchObject({
        success: 'true',
        provider: 'imap',
        email: user.email,
      });
      expect(complaints).toEqual([]);
    });

    it('send the user to the provider and back, by OAuth', async () => {
      const user = await mail.addUser();
      await registerImap(withIssuer());
      await page.goto(await linkFor({ provider: 'imap' }));
      await picture('ways');
      await page.getByRole('button', { name: 'Example Mail' }).click();
      await atIssuer(user.email);
      await page.getByText(user.email).waitFor();
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      const { grant_id } = await returned();
      expect(grant_id).toEqual(expect.any(String));
      const [row] = await rowsOf<{ tokens: string }>(
        server,
        'select tokens_sealed as tokens from "grant" where id = $1',
        [grant_id],
      );
      expect(row?.tokens).toMatch(/^v1\./);
      // A second sign-in as another user is refused. As the same user it gives the same grant.
      await context.close();
      await begin({});
      await page.goto(await linkFor({ provider: 'imap', grant_id }));
      await picture('oauth');
      await page.getByRole('button', { name: 'Continue with Example Mail' }).click();
      await atIssuer((await mail.addUser()).email);
      await page.getByText(`Sign in as ${user.email}`).waitFor();
      await picture('oauth-refused');
      await context.close();
      await begin({});
      await page.goto(await linkFor({ provider: 'imap', grant_id }));
      await page.getByRole('button', { name: 'Continue with Example Mail' }).click();
      await atIssuer(user.email);
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      expect(await returned()).toMatchObject({ success: 'true', grant_id });
      expect(await grants()).toHaveLength(1);
    });

    it('return when the user refuses at the provider, and accept no return from another browser', async () => {
      await registerImap(withIssuer());
      const link = await linkFor({ provider: 'imap' });
      await page.goto(link);
      await page.getByRole('button', { name: 'Example Mail' }).click();
      await page.waitForURL(`${mail.issuer?.url}/**`);
      const [row] = await rowsOf<{ waiting: boolean }>(
        server,
        'select oauth_state_hash is not null as waiting from login_request where application_id = $1',
        [application.id],
      );
      expect(row?.waiting).toBe(true);
      const stranger = await chromium.newContext();
      const elsewhere = await stranger.newPage();
      // A sign-in of its own, so that this browser has a cookie, too.
      await elsewhere.goto(await linkFor({ provider: 'imap' }));
      // The state of the sign-in that waits in the first browser.
      const state = new URL(page.url()).searchParams.get('state') ?? 'none';
      const stolen = await elsewhere.goto(`${server.url}/connect/callback?state=${state}&code=x`);
      expect(stolen?.status()).toBe(403);
      await stranger.close();
      await page.getByRole('link', { name: /cancel|abort/i }).click();
      await page.getByText('You did not allow the sign-in at your provider').waitFor();
      expect(await grants()).toEqual([]);
    });
  });

  it('share the server with the documentation, whose search finds fields and which loads nothing from elsewhere', async () => {
    const requested: string[] = [];
    page.on('request', (one) => requested.push(one.url()));
    await page.goto(`${server.url}/`);
    expect(page.url()).toBe(`${server.url}/docs`);
    await page.getByRole('link', { name: 'Try the API' }).click();
    const operation = (text: string) => page.locator(`.opblock-summary [data-path="${text}"]`);
    await operation('/connect/detect-provider').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('max_lateness_seconds dry_run');
    await operation('/connect/detect-provider').waitFor({ state: 'detached' });
    await operation('/v2/outbox').first().waitFor();
    expect(await page.getByRole('status').textContent()).toMatch(/^\d of \d{3} operations$/);
    await operation('/v2/outbox').first().click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    await page.getByRole('button', { name: 'Execute' }).waitFor();
    // An example must not become a value that is sent.
    expect(await page.locator('[data-param-name="Idempotency-Key"] input').inputValue()).toBe('');
    expect(
      requested.filter((url) => !/^(data:|blob:)/.test(url) && !url.startsWith(server.url)),
    ).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
