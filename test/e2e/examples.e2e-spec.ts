import { afterAll, beforeAll, expect, it } from '@jest/globals';
import request from 'supertest';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { freePorts } from '../support/mail-servers/processes.ts';
import { type RunningScript, startProgram } from '../support/npm-script.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describeWith(['python3'], 'the examples', () => {
  let clock: PassingClock;
  /** How many seconds the clock of the server is ahead. */
  let ahead = 0;
  let server: TestApp;
  let application: TestApplication;
  let account: TestAccount;

  beforeAll(async () => {
    clock = new PassingClock();
    server = await startTestApp({}, { clock });
    application = await createApplication(server.app);
    account = await createAccount(server.app, application);
  });
  afterAll(() => server.close());

  const start = (command: string, file: string, more: Record<string, string> = {}) =>
    startProgram(command, [`examples/${file}`], {
      CARILLON_API_URL: server.url,
      CARILLON_CLIENT_ID: application.clientId,
      CARILLON_CLIENT_SECRET: application.clientSecret,
      CARILLON_ACCESS_TOKEN: account.token,
      PORT: '0',
      // By the clock of this machine, which the server is ahead of.
      SECONDS: String(ahead + 30),
      ...more,
    });
  /** Sends the program a delivery that somebody else has signed. */
  const forge = async ({ printed }: RunningScript): Promise<number> => {
    const [, url = ''] = /at (http\S+)/.exec(await printed(/at http/)) ?? [];
    const seconds = String(Math.floor(Date.now() / 1000));
    const { status } = await request(url)
      .post('')
      .set({ 'webhook-id': 'x', 'webhook-timestamp': seconds })
      .set({ 'webhook-signature': 'v1,AAAA', 'x-reminder-signature': 'aa' })
      .send({ deltas: [] });
    return status;
  };
  /** Lets the time of their messages come. */
  const messagesDue = async (programs: readonly RunningScript[]): Promise<void> => {
    for (const { printed } of programs) await printed(/Message \S+ is due at/);
    await pass();
  };
  const pass = async (): Promise<void> => {
    await clock.pass(31_000);
    ahead += 31;
  };
  const webhooks = async (): Promise<unknown> =>
    (
      await request(server.url)
        .get(`/a/${application.clientId}/webhooks`)
        .set(application.secretBasic)
        .expect(200)
    ).body;

  it('send later in Node and in Python, refuse forged webhooks, and leave nothing behind', async () => {
    const programs = [
      start(process.execPath, 'send-later-node/send-later.mjs'),
      start('python3', 'send-later-python/send_later.py'),
    ];
    for (const program of programs) expect(await forge(program)).toBe(401);
    await messagesDue(programs);
    for (const program of programs) {
      const { code, output } = await program.ended;
      expect(output).toMatch(/Message \S+ is due at .*\njob\.successful\n$/);
      expect(code).toBe(0);
    }
    expect(await webhooks()).toEqual([]);
  });

  it.each([
    [process.execPath, 'send-later-node/send-later.mjs'],
    ['python3', 'send-later-python/send_later.py'],
  ])(
    'end with Ctrl-C, and start again after a run that was killed: %s %s',
    async (command, file) => {
      const [port = 0] = await freePorts(1);
      const [killed, stopped] = ['SIGKILL', 'SIGINT'] as const;
      for (const signal of [killed, stopped]) {
        // Each run uses the same address, for which there can be only one webhook.
        const program = start(command, file, { PORT: String(port) });
        await program.printed(/Message \S+ is due at/);
        expect(await webhooks()).toHaveLength(1);
        program.child.kill(signal);
        const { code, output } = await program.ended;
        expect([signal, code]).toEqual([signal, signal === stopped ? 130 : null]);
        expect(output).not.toMatch(/Error|Traceback/);
      }
      expect(await webhooks()).toEqual([]);
    },
  );

  it('remove the event when a program about reminders is stopped with Ctrl-C', async () => {
    const program = start(process.execPath, 'reminders/reminders.mjs');
    const printed = await program.printed(/Event \S+ begins/);
    program.child.kill('SIGINT');
    expect((await program.ended).code).toBe(130);
    const [, id = ''] = /Event (\S+) begins/.exec(printed) ?? [];
    const { body } = await request(server.url).get(`/events/${id}`).set(account.bearer).expect(200);
    expect(body).toMatchObject({ status: 'cancelled' });
  });

  it('report why a message was not sent', async () => {
    const to = { TO: 'rejected@sandbox.test' };
    const program = start(process.execPath, 'send-later-node/send-later.mjs', to);
    await messagesDue([program]);
    const { code, output } = await program.ended;
    expect(output).toMatch(/\njob\.failed: .*User unknown\n$/);
    expect(code).toBe(1);
  });

  it('remind participants by email and the program by webhook', async () => {
    const program = start(process.execPath, 'reminders/reminders.mjs');
    expect(await forge(program)).toBe(401);
    await program.printed(/Event \S+ begins/);
    await pass();
    const { code, output } = await program.ended;
    expect(output).toMatch(/\nReminded: \{"meeting":"planning"\}\n/);
    expect(output).toMatch(/\nwebhook: sent\n/);
    expect(output).toMatch(/\nemail: sent\n/);
    expect(code).toBe(0);
  });
});
