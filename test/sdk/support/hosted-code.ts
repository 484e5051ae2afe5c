import { PageBrowser } from '../../support/page-browser.ts';
import type { TestApp } from '../../support/test-app.ts';

/**
 * Signs a sandbox user in on the hosted pages, as a browser does.
 * @param query of `/oauth/authorize`
 * @returns the code that the application exchanges for an access token
 */
export async function hostedCode(server: TestApp, query: Record<string, string>): Promise<string> {
  const browser = new PageBrowser(server);
  await browser.get(`/oauth/authorize?${String(new URLSearchParams(query))}`);
  await browser.get(`${browser.page.location}&provider=sandbox`);
  await browser.follow('credentials', { password: 'x' });
  await browser.submit('consent');
  return new URL(browser.page.location ?? '').searchParams.get('code') ?? '';
}
