import fs from 'node:fs/promises';
import path from 'node:path';
import request from 'supertest';
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

  beforeAll(async () => {
    folder = await serverFolder('haproxy');
    for (let n = 0; n < 2; n += 1) installations.push(await startTestApp({ ROLES: 'api' }));
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

  const readyAt = (host: string) => request(url).get('/health/ready').set('host', host);

  it('leads each host name to its own installation', async () => {
    for (const host of [ACME, GLOBEX, ACME.toUpperCase()])
      await until(`${host} to be ready`, async () => (await readyAt(host)).status === 200);
    await installations[1]?.database.drop();
    await until('the second installation to be without a process', async () => {
      const { status, body } = await readyAt(GLOBEX);
      return status === 503 && String(body.message).includes('No api process');
    });
    expect((await readyAt(ACME)).status).toBe(200);
  });

  it('refuses host names that no installation serves', async () => {
    const response = await readyAt('other.example.com');
    expect(response.status).toBe(421);
    expect(response.body).toMatchObject({ type: 'api_error' });
  });
});
