import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import {
  createAdminOpenApiDocument,
  createOpenApiDocument,
} from '../../src/app/openapi/document.ts';
import { operationsOf } from '../../src/app/openapi/operations-of.ts';
import { schemaName } from '../../src/app/openapi/webhooks/webhook-operations.ts';
import { PAYLOADS } from '../../src/platform/webhooks/payloads/payloads.ts';
import { TRIGGERS } from '../../src/platform/webhooks/webhook-state.ts';
import { accessibilityFaults } from '../support/accessibility.ts';
import { startBrowser } from '../support/mail-servers/browser.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 390, height: 800 };

describeWith(['chromium'], 'the documentation in Chromium', () => {
  let server: TestApp;
  let chromium: Browser;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    chromium = await startBrowser();
  });
  afterAll(async () => {
    await chromium.close();
    await server.close();
  });

  /** Opens a page, hands it to `work`, and returns what Chromium complained about. */
  async function visit(
    path: string,
    work: (page: Page) => Promise<void>,
    options: { viewport?: typeof WIDE; javaScriptEnabled?: boolean } = {},
  ): Promise<string[]> {
    const context = await chromium.newContext({ viewport: WIDE, ...options });
    context.setDefaultTimeout(60_000);
    const complaints: string[] = [];
    try {
      const page = await context.newPage();
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      await page.goto(server.url + path);
      await work(page);
    } finally {
      await context.close();
    }
    return complaints;
  }

  it.each([
    ['/docs', WIDE],
    ['/docs', NARROW],
    ['/admin/docs', WIDE],
  ])('breaks no rule of accessibility at %s with the window %j', async (path, viewport) => {
    const check = async (page: Page) => expect(await accessibilityFaults(page)).toEqual([]);
    expect(await visit(path, check, { viewport })).toEqual([]);
  });

  it.each([
    ['/docs', createOpenApiDocument],
    ['/admin/docs', createAdminOpenApiDocument],
  ])('shows all of its document as text at %s, without JavaScript', async (path, create) => {
    const document = create(server.app);
    const words = operationsOf(document).flatMap(({ operation }) => [
      (operation.summary ?? '').replaceAll('`', ''),
      ...(operation.parameters ?? []).map(({ name }) => name),
    ]);
    const schemas = Object.keys(document.components?.schemas ?? {});
    const check = async (page: Page) => {
      // What a browser's search finds: text that is rendered, not what is in the DOM but hidden.
      const text = await page.locator('body').innerText();
      const missing = [...words, ...schemas].filter((word) => !text.includes(word));
      expect(missing).toEqual([]);
    };
    await visit(path, check, { javaScriptEnabled: false });
  });

  it('shows each trigger of webhooks at /docs with its text, its schema and an example', async () => {
    const check = async (page: Page) => {
      await page
        .getByRole('navigation', { name: 'Groups' })
        .getByRole('link', { name: 'triggers' })
        .click();
      for (const trigger of TRIGGERS) {
        const part = page.locator('article', {
          has: page.getByRole('heading', { name: trigger, exact: true }),
        });
        const text = await part.innerText();
        expect(text).toContain(PAYLOADS[trigger].summary.replaceAll('`', ''));
        expect(text).toContain(`"type": "${trigger}"`);
        const schema = part.getByRole('link', { name: schemaName(trigger), exact: true });
        const target = (await schema.getAttribute('href')) ?? '';
        await page.locator(target).getByText('deltas[].object_data', { exact: true }).waitFor();
      }
    };
    expect(await visit('/docs', check, { javaScriptEnabled: false })).toEqual([]);
  });

  it.each([WIDE, NARROW])('keeps the list of groups in the window %j', async (viewport) => {
    const check = async (page: Page) => {
      const groups = page.getByRole('navigation', { name: 'Groups' });
      await groups.getByRole('link', { name: 'outbox', exact: true }).click();
      await page.getByRole('heading', { name: 'outbox', exact: true }).waitFor();
      const box = await groups.boundingBox();
      expect(box?.y).toBeGreaterThanOrEqual(0);
      expect(box?.y).toBeLessThan(viewport.height / 2);
      const scrolls = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
      expect(await page.evaluate<boolean>(scrolls)).toBe(false);
    };
    expect(await visit('/docs', check, { viewport })).toEqual([]);
  });

  it('leads from an operation to a page on which it can be tried', async () => {
    const check = async (page: Page) => {
      await page.getByRole('link', { name: 'Try it: POST /v2/outbox', exact: true }).click();
      await page.getByRole('button', { name: 'Try it out' }).waitFor();
      await page.getByLabel('Search the operations').fill('free-busy');
      await page.getByText(/^\d+ of \d+ operations$/).waitFor();
    };
    const complaints = await visit('/docs', check);
    // Swagger UI says so of each link to an operation whose id contains `_`.
    expect(complaints.filter((one) => !one.includes('deep link'))).toEqual([]);
  });

  it('says that operations load while they load, and what to do without JavaScript', async () => {
    const check = async (page: Page) => {
      const text = await page.locator('main').innerText();
      expect(text).toContain('Loading…');
      expect(text).toContain('only with JavaScript');
      await page.getByRole('link', { name: 'reference', exact: true }).click();
      await page.getByRole('heading', { name: 'Schemas' }).waitFor();
    };
    await visit('/docs/try', check, { javaScriptEnabled: false });
  });
});
