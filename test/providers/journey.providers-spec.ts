import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import request from 'supertest';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { connectMailbox, type RealAccount } from '../support/mail-servers/connect-account.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { MailServers, mimeOf } from '../support/mail-servers/mail-servers.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

interface Message {
  id: string;
  subject: string;
  unread: boolean;
  starred: boolean;
  folder: { name: string | null; display_name: string };
  files: { id: string; filename: string }[];
}

/** Two people with real mailboxes, a mail server between them, and their mail programs. */
describeWith(['dovecot', 'exim4'], 'two people with real mailboxes', () => {
  let servers: MailServers;
  let server: TestApp;
  let application: TestApplication;
  let ada: RealAccount;
  let bo: RealAccount;
  let home: string;

  beforeAll(async () => {
    home = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-journey-'));
    servers = await MailServers.start();
    server = await startTestApp();
    application = await createApplication(server.app);
    const connect = async () => {
      const user = await servers.addUser();
      return connectMailbox(server, application, user, servers.settingsOf(user));
    };
    [ada, bo] = [await connect(), await connect()];
  });
  afterAll(async () => {
    await server.close();
    await servers.stop();
    fs.rmSync(home, { recursive: true, force: true });
  });

  /** Runs `carillon-api` with the application's credentials. @throws with its errors */
  const runApi = async (args: string[], input = ''): Promise<string> => {
    const env = {
      PATH: process.env['PATH'],
      XDG_CONFIG_HOME: home,
      CARILLON_API_URL: server.url,
      CARILLON_CLIENT_ID: application.clientId,
      CARILLON_CLIENT_SECRET: application.clientSecret,
    };
    const run = promisify(execFile)(process.execPath, ['src/cli/carillon-api.ts', ...args], {
      env,
    });
    run.child.stdin?.end(input);
    return (await run).stdout;
  };
  const messages = async (account: RealAccount, query = ''): Promise<Message[]> => {
    const { body } = await request(server.url)
      .get(`/messages${query}`)
      .set(account.bearer)
      .expect(200);
    return body as Message[];
  };
  const find = (account: RealAccount, subject: string, query = '') =>
    until(`"${subject}" at ${account.email}`, async () =>
      (await messages(account, query)).find((one) => one.subject === subject),
    );
  const send = (from: RealAccount, to: RealAccount, subject: string) =>
    request(server.url)
      .post('/v2/outbox')
      .set(from.bearer)
      .send({ to: [{ email: to.email }], subject, body: '<p>Good day</p>' })
      .expect(202);

  it('can write to each other, and the sender has one copy under the promised id', async () => {
    const { body } = await send(ada, bo, 'Lunch?');
    const { job_status_id } = body as { job_status_id: string };
    const received = await find(bo, 'Lunch?');
    expect(received).toMatchObject({ unread: true, folder: { name: 'inbox' } });
    const job = await until('the end of the job', async () => {
      const answer = await request(server.url)
        .get(`/job-statuses/${job_status_id}`)
        .set(ada.bearer);
      const found = answer.body as { status: string; message_id: string };
      return found.status === 'successful' ? found : null;
    });
    const copy = await find(ada, 'Lunch?', '?in=sent');
    expect(copy).toMatchObject({ id: job.message_id, unread: false });
    const client = await servers.client(ada);
    await client.mailboxOpen('Sent');
    expect(await client.search({ subject: 'Lunch?' }, { uid: true })).toHaveLength(1);
    await client.logout();
  });

  it('see changes by a mail program in the API, and changes by the API in a mail program', async () => {
    await servers.deliver(bo, mimeOf({ Subject: 'Flags' }));
    const message = await find(bo, 'Flags');
    const client = await servers.client(bo);
    await client.mailboxOpen('INBOX');
    const [uid = 0] = (await client.search({ subject: 'Flags' }, { uid: true })) || [];
    await client.messageFlagsAdd(String(uid), ['\\Seen'], { uid: true });
    await until('the flag', async () =>
      (await messages(bo)).find(({ id, unread }) => id === message.id && !unread),
    );

    await request(server.url)
      .put(`/messages/${message.id}`)
      .set(bo.bearer)
      .send({ starred: true })
      .expect(200);
    await until('the star', async () => {
      const one = await client.fetchOne(String(uid), { flags: true }, { uid: true });
      return one && one.flags?.has('\\Flagged');
    });
    await client.messageMove(String(uid), 'Archive', { uid: true });
    const moved = await until('the move', async () =>
      (await messages(bo, '?in=archive')).find(({ subject }) => subject === 'Flags'),
    );
    expect(moved).toMatchObject({ id: message.id, unread: false, starred: true });
    await client.logout();
  });

  it('can exchange a message of 50 MB, and its attachment arrives unchanged', async () => {
    const bytes = randomBytes(37 * 1024 * 1024);
    const lines = bytes.toString('base64').match(/.{1,76}/g) ?? [];
    const part = (headers: string[], body: string) => [...headers, '', body].join('\r\n');
    const body = [
      '--b',
      part(['Content-Type: text/plain; charset=utf-8'], 'See attached.'),
      '--b',
      part(
        [
          'Content-Type: application/octet-stream; name="large.bin"',
          'Content-Disposition: attachment; filename="large.bin"',
          'Content-Transfer-Encoding: base64',
        ],
        lines.join('\r\n'),
      ),
      '--b--',
    ].join('\r\n');
    await servers.deliver(
      bo,
      mimeOf({ Subject: 'Large' }, body, 'multipart/mixed; boundary="b"'),
      mimeOf({ Subject: 'After it' }),
    );
    await find(bo, 'After it');
    const large = await find(bo, 'Large');
    expect(large.files.map(({ filename }) => filename)).toEqual(['large.bin']);
    const response = await fetch(`${server.url}/files/${large.files[0]?.id}/download`, {
      headers: bo.bearer,
    });
    const hash = createHash('sha256');
    for await (const chunk of response.body ?? []) hash.update(chunk as Uint8Array);
    expect(hash.digest('hex')).toBe(createHash('sha256').update(bytes).digest('hex'));
  });

  it('can be connected on the command line, which stores a profile that sends', async () => {
    const user = await servers.addUser();
    const settings = Object.entries(servers.settingsOf(user))
      .filter(([name]) => !name.includes('password'))
      .map(([name, value]) => `--setting=${name}=${value}`);
    const connect = ['connect', user.email, '--name=Command', ...settings];
    await expect(runApi(connect, 'wrong\n')).rejects.toThrow(/settings\.\w*password: /);
    expect(await runApi(connect, `${user.password}\n`)).toContain(`Connected ${user.email} (imap)`);
    const body = JSON.stringify({ to: [{ email: bo.email }], subject: 'By command', body: 'Hi' });
    await runApi(['outbox', 'post', `--profile=${user.email}`, `--body=${body}`]);
    await find(bo, 'By command');
  });

  it('get an error and no account for wrong credentials', async () => {
    const user = await servers.addUser();
    const wrong = { ...servers.settingsOf(user), imap_password: 'wrong' };
    const { clientId: client_id } = application;
    const answer = await request(server.url)
      .post('/connect/authorize')
      .send({ client_id, name: 'X', email_address: user.email, provider: 'imap', settings: wrong });
    expect(answer.status).toBe(400);
    expect((answer.body as { message: string }).message).toMatch(/imap_password/);
  });
});
