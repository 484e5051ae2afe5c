import { execFile } from 'node:child_process';
import fs from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import request from 'supertest';
import { registerSandbox } from '../support/connect.ts';
import { createApplication } from '../support/factories.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import {
  Daemon,
  ENVIRONMENT,
  freePorts,
  removeFolder,
  serverFolder,
} from '../support/mail-servers/processes.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const SHIPPED = 'deploy/compose/haproxy.cfg';

describeWith(['haproxy'], 'the proxy of docker-compose.yml', () => {
  let folder: string;
  let haproxy: Daemon | undefined;
  let url: string;
  const servers: TestApp[] = [];

  beforeEach(async () => {
    folder = await serverFolder('haproxy');
  });
  afterEach(async () => {
    await haproxy?.stop('SIGTERM');
    haproxy = undefined;
    for (const server of servers.splice(0)) await server.close();
    await removeFolder(folder);
  });

  const serve = async (environment: Record<string, string>): Promise<TestApp> => {
    const server = await startTestApp({ ROLES: 'api', ...environment });
    servers.push(server);
    return server;
  };

  /** Starts the proxy as shipped, but with these processes instead of those that Docker names. */
  async function start(processes: readonly TestApp[]): Promise<void> {
    const [api = 0, operators = 0] = await freePorts(2);
    const named = processes.map((each, index) => `  server api-${index} ${new URL(each.url).host}`);
    const configuration = (await fs.readFile(SHIPPED, 'utf8'))
      .replace(/^ +server-template api- 20 api:3000 (.*) resolvers.*$/m, (_, check: string) =>
        named.map((server) => `${server} ${check}`).join('\n'),
      )
      .replace('bind :3000', `bind 127.0.0.1:${api}`)
      .replace('bind :9400', `bind 127.0.0.1:${operators}`);
    const file = path.join(folder, 'haproxy.cfg');
    await fs.writeFile(file, configuration);
    haproxy = new Daemon('haproxy', ['-f', file]);
    await haproxy.listening(api);
    url = `http://127.0.0.1:${api}`;
  }

  it('has a configuration that the program accepts as shipped', async () => {
    const check = promisify(execFile)('haproxy', ['-c', '-f', SHIPPED], { env: ENVIRONMENT });
    await expect(check).resolves.toBeDefined();
  });

  it('sends no request to a process that is not ready, and every one to the others', async () => {
    const [ready, lost] = [await serve({}), await serve({})];
    await start([lost, ready]);
    const status = async () => (await request(url).get('/health/ready')).status;
    // A lost database makes a process unready, as wrong keys and a stop do.
    await lost.database.drop();
    await until(
      'the process without a database to be unready',
      async () => (await request(lost.url).get('/health/ready')).status === 503,
    );
    await until('twenty requests in a row to be served', async () => {
      for (let requests = 0; requests < 20; requests += 1)
        if ((await status()) !== 200) return false;
      return true;
    });
  });

  it('answers with 503 in the form of the API when no process is ready', async () => {
    const server = await serve({});
    await start([server]);
    await server.database.drop();
    await until('the proxy to refuse requests', async () => {
      const { status, body, headers } = await request(url).get('/account');
      if (status !== 503 || headers['retry-after'] !== '2') return false;
      expect(body).toEqual({ message: expect.stringContaining('ready'), type: 'api_error' });
      expect(headers['content-type']).toBe('application/json');
      return true;
    });
  });

  it('tells the process who its client is, whatever the client says', async () => {
    const server = await serve({ TRUST_PROXY: '1' });
    const application = await createApplication(server.app);
    await registerSandbox(server, application);
    await start([server]);
    const { body } = await request(url)
      .post('/connect/grants')
      .set(application.basic)
      .set('X-Forwarded-For', '203.0.113.9')
      .send({ provider: 'sandbox', settings: { email: 'ada@sandbox.test', password: 'x' } })
      .expect(200);
    expect(body.data.ip).toBe('127.0.0.1');
  });
});
