import { OperatorCredentials } from '../../src/operator/access/operator-credentials.ts';
import { OperatorOidcService } from '../../src/operator/access/operator-oidc.service.ts';
import { Issuer } from '../support/mail-servers/issuer.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const CONSOLE = 'http://localhost:3001';

/** Signs a user in on the provider's own pages. @returns where the provider sends the browser */
async function throughPages(start: string, login: string): Promise<URL> {
  const cookies = new Map<string, string>();
  const ask = async (address: URL, form?: URLSearchParams) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(address, {
      redirect: 'manual',
      headers: { cookie },
      ...(form ? { method: 'POST', body: form } : {}),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    return response;
  };
  let address = new URL(start);
  for (let step = 0; step < 12 && address.origin !== CONSOLE; step += 1) {
    let response = await ask(address);
    if (response.status === 200) {
      const page = await response.text();
      const action = /action="([^"]+)"/.exec(page)?.[1] ?? '';
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? '';
      const form = new URLSearchParams({ prompt, login, password: 'any' });
      response = await ask(new URL(action, address), form);
    }
    address = new URL(response.headers.get('location') ?? '', address);
  }
  return address;
}

describe('sign-in of operators at an OpenID provider', () => {
  let issuer: Issuer;
  let server: TestApp;
  beforeAll(async () => {
    issuer = await Issuer.start();
    server = await startTestApp({
      ROLES: 'api',
      OPERATOR_URL: CONSOLE,
      OPERATOR_OIDC_ISSUER: issuer.url,
      OPERATOR_OIDC_CLIENT_ID: issuer.clientId,
      OPERATOR_OIDC_CLIENT_SECRET: issuer.clientSecret,
      OPERATOR_OIDC_CLAIM: 'email',
      OPERATOR_OIDC_ROLES: 'read:ada@example.test',
    });
  });
  afterAll(async () => {
    await server.close();
    await issuer.stop();
  });

  const signIn = async (login: string) => {
    const service = server.app.get(OperatorOidcService);
    const { url, cookie } = await service.begin('/console');
    const back = await throughPages(url, login);
    expect(back.pathname).toBe('/console/sign-in/callback');
    return service.finish(back.searchParams, cookie, { address: '127.0.0.1', presented: '' });
  };

  it('accepts a user whose verified address is listed, and refuses all others', async () => {
    const { secret } = await signIn('ada@example.test');
    expect(await server.app.get(OperatorCredentials).bySession(secret)).toMatchObject({
      name: 'ada@example.test',
      role: 'read',
    });
    await expect(signIn('eve@example.test')).rejects.toThrow('eve@example.test is no operator');
  });
});
