import { PageBrowser } from '../../support/page-browser.ts';
import type { TestApp } from '../../support/test-app.ts';
import type { Values } from './recorded-client.ts';

/**
 * Signs a sandbox user in on the hosted pages, as a browser does.
 * @param values with the `clientId` of the application
 * @returns `hostedCode1`, `hostedCode2` and so on: codes that the application exchanges for access
 *   tokens
 */
export async function hostedCodes(
  server: TestApp,
  { clientId = '' }: Values,
  count: number,
): Promise<Values> {
  const query = {
    client_id: clientId,
    redirect_uri: 'https://app.example.test/callback',
    response_type: 'code',
    login_hint: 'hosted@sandbox.test',
    scopes: 'email,calendar',
  };
  const codes: Values = {};
  for (let number = 1; number <= count; number += 1)
    codes[`hostedCode${number}`] = await hostedCode(server, query);
  return codes;
}

async function hostedCode(server: TestApp, query: Record<string, string>): Promise<string> {
  const browser = new PageBrowser(server);
  await browser.get(`/oauth/authorize?${String(new URLSearchParams(query))}`);
  await browser.get(`${browser.page.location}&provider=sandbox`);
  await browser.follow('credentials', { password: 'x' });
  await browser.submit('consent');
  return new URL(browser.page.location ?? '').searchParams.get('code') ?? '';
}
