import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { startBrowser } from '../support/mail-servers/browser.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { secret } from '../support/log-watch.ts';
import { Operators } from '../../src/operator/access/operators.service.ts';
import { SYSTEM } from '../../src/platform/audit/actor.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);
interface AxeResult {
  violations: { id: string; nodes: { html: string }[] }[];
}
const PASSWORD = secret('password of an operator', 'correct horse battery');

describeWith(['chromium'], 'the console in Chromium', () => {
  let server: TestApp;
  let chromium: Browser;
  let context: BrowserContext;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
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
      .get(Operators)
      .create(SYSTEM, { name: 'ada', role: 'operate', password: PASSWORD });
  });
  afterAll(async () => {
    await chromium.close();
    await server.close();
  });

  const open = (path: string) => page.goto(server.url + path);

  /** Rules of accessibility that the page breaks, in light and dark. */
  async function violations(): Promise<string[]> {
    const found: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      // Evaluated by the debugger, which the page's policy does not concern.
      await page.evaluate(axeSource);
      const run = 'axe.run(document, { resultTypes: ["violations"] })';
      const { violations: broken } = await page.evaluate<AxeResult>(run);
      for (const { id, nodes } of broken)
        found.push(`${colorScheme} ${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
    }
    return found;
  }

  it('leads from the sign-in to the page that was asked for', async () => {
    await open('/console?from=link');
    expect(await violations()).toEqual([]);
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
    for (const path of ['/console']) {
      const response = await open(path);
      expect([path, response?.status()]).toEqual([path, 200]);
      found.push(...(await violations()).map((one) => `${path}: ${one}`));
    }
    expect(found).toEqual([]);
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
