import fs from 'node:fs/promises';
import path from 'node:path';
import request from 'supertest';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import {
  Daemon,
  freePorts,
  removeFolder,
  serverFolder,
} from '../support/mail-servers/processes.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const SHIPPED = 'deploy/installations';
const [ACME, GLOBEX] = ['acme.mail.example.com', 'globex.mail.example.com'];

describeWith(['haproxy'], 'the proxy before several installations', () => {
  let folder: string;
  let haproxy: Daemon | undefined;
  let url: string;
  const installations: TestApp[] = [];
  const accounts: TestAccount[] = [];

  beforeAll(async () => {
    folder = await serverFolder('haproxy');
    for (let n = 0; n < 2; n += 1) {
      const server = await startTestApp({ ROLES: 'api' });
      installations.push(server);
      accounts.push(await createAccount(server.app, await createApplication(server.app)));
    }
    const [port = 0] = await freePorts(1);
    const hostOf = (n: string) => new URL(installations[Number(n) - 1]?.url ?? '').host;
    const shipped = await fs.readFile(path.join(SHIPPED, 'haproxy.cfg'), 'utf8');
    const configuration = shipped
      .replace(/bind :443 .*/, `bind 127.0.0.1:${port}`)
      .replaceAll('/etc/haproxy/installations.map', path.resolve(SHIPPED, 'installations.map'))
      .replaceAll(/10\.0\.(\d)\.\d+:3000/g, (_, n: string) => hostOf(n));
    const file = path.join(folder, 'haproxy.cfg');
    await fs.writeFile(file, configuration);
    haproxy = new Daemon('haproxy', ['-f', file]);
    await haproxy.listening(port);
    url = `http://127.0.0.1:${port}`;
  });
  afterAll(async () => {
    await haproxy?.stop('SIGTERM');
    for (const server of installations) await server.close();
    await removeFolder(folder);
  });

  const accountAt = (host: string, account: TestAccount | undefined) =>
    request(url)
      .get('/account')
      .set('host', host)
      .set(account?.bearer ?? {});

  it('leads a host name to the installation that knows its tokens', async () => {
    const [first, second] = accounts;
    await until(
      'the first installation to serve its account',
      async () => (await accountAt(ACME, first)).status === 200,
    );
    await until(
      'the second installation to serve its account',
      async () => (await accountAt(GLOBEX, second)).status === 200,
    );
    expect((await accountAt(ACME.toUpperCase(), first)).body).toMatchObject({ id: first?.id });
    expect((await accountAt(GLOBEX, second)).body).toMatchObject({ id: second?.id });
    expect((await accountAt(GLOBEX, first)).status).toBe(401);
  });

  it('refuses host names that no installation serves', async () => {
    const response = await accountAt('other.example.com', accounts[0]);
    expect(response.status).toBe(421);
    expect(response.body).toMatchObject({ type: 'api_error' });
  });
});
