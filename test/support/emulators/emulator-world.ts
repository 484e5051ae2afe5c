import request from 'supertest';
import { QUEUES, signals } from '../../../src/platform/work/signals.ts';
import { rowsOf } from '../connect.ts';
import { createApplication, type TestApplication } from '../factories.ts';
import { PageBrowser } from '../page-browser.ts';
import { PassingClock } from '../passing-clock.ts';
import type { FaultAnswer } from '../remote-stub/faults.ts';
import type { RecordedRequest, StubRequest } from '../remote-stub/messages.ts';
import { startTestApp, type TestApp } from '../test-app.ts';
import { until } from '../until.ts';
import type { EmulatorProxy, Person } from './emulator-proxy.ts';

const REDIRECT = 'https://app.example.test/callback';
const BASE_URL = 'https://carillon.example.test';

/** An emulator with its sign-in. */
export interface SignInEmulator extends EmulatorProxy {
  /** The provider at Carillon. */
  readonly provider: 'google' | 'microsoft';
  /** Starts it. @param redirectUris of the OAuth client */
  open(people: number, redirectUris: readonly string[]): Promise<void>;
  /** The next person who was not taken before. */
  person(): Promise<Person>;
}

/** An account that a person connected by signing in at the emulator. */
export interface EmulatedAccount extends Person {
  id: string;
  emulator: SignInEmulator;
  bearer: Record<string, string>;
}

type Method = 'get' | 'post' | 'put' | 'delete';
// oxlint-disable-next-line typescript/no-explicit-any -- fields of any answer
type Answer = any;

/** The whole server with accounts at emulators. Waiting times are skipped by the clock. */
export class EmulatorWorld {
  private constructor(
    private readonly clock: PassingClock,
    private readonly server: TestApp,
    private readonly application: TestApplication,
    private readonly emulators: readonly SignInEmulator[],
  ) {}

  /**
   * Starts the server, and emulators that already listen.
   * @param environment addresses of the emulators
   * @param people how many may be connected at each emulator
   */
  static async start(
    emulators: readonly SignInEmulator[],
    environment: Readonly<Record<string, string>>,
    people: number,
  ): Promise<EmulatorWorld> {
    const clock = new PassingClock();
    const server = await startTestApp(
      { BASE_URL, SYNC_AUDIT_SECONDS: '0', ...environment },
      { clock },
    );
    const application = await createApplication(server.app);
    await request(server.url)
      .put(`/a/${application.clientId}`)
      .set(application.secretBasic)
      .send({ redirect_uris: [REDIRECT] })
      .expect(200);
    const world = new EmulatorWorld(clock, server, application, emulators);
    for (const emulator of emulators) await world.#open(emulator, people);
    return world;
  }

  async stop(): Promise<void> {
    await this.server.close();
    for (const emulator of this.emulators) await emulator.stop();
  }

  async #open(emulator: SignInEmulator, people: number): Promise<void> {
    // Real time: what the clock skips must not count as a pause.
    emulator.now = () => performance.now();
    await emulator.open(people, [`${BASE_URL}/connect/callback`]);
    const { id: client_id, secret: client_secret } = emulator.client;
    await request(this.server.url)
      .post('/connect/integrations')
      .set(this.application.basic)
      .send({
        name: 'Emulated',
        provider: emulator.provider,
        settings: { client_id, client_secret },
      })
      .expect(200);
  }

  /** Signs a person in on the pages of Carillon and of the emulator, and waits for the mailbox. */
  async connect(emulator: SignInEmulator, person?: Person): Promise<EmulatedAccount> {
    const one = person ?? (await emulator.person());
    const { clientId, clientSecret } = this.application;
    const browser = new PageBrowser(this.server);
    const query = {
      client_id: clientId,
      redirect_uri: REDIRECT,
      response_type: 'code',
      provider: emulator.provider,
    };
    await browser.get(`/oauth/authorize?${new URLSearchParams(query)}`);
    await browser.get(browser.page.location ?? '');
    if (!browser.page.location) await browser.submit('provider');
    await browser.get(await this.#consent(emulator, one, browser.page.location ?? ''));
    if (browser.page.location?.startsWith('/')) await browser.get(browser.page.location);
    await browser.submit('consent');
    const code = new URL(browser.page.location ?? '').searchParams.get('code') ?? '';
    const { body } = await request(this.server.url).get('/oauth/token').query({
      client_id: clientId,
      client_secret: clientSecret,
      grant_type: 'authorization_code',
      code,
    });
    expect(body).toMatchObject({ email_address: one.email });
    const { account_id: id, access_token: token } = body as Record<string, string>;
    return { ...one, emulator, id: id ?? '', bearer: { authorization: `Bearer ${token}` } };
  }

  /** Chooses a person on the page of the emulator. @returns where it sends the browser back to */
  async #consent(emulator: SignInEmulator, { email }: Person, address: string): Promise<string> {
    const pages = new PageBrowser({ url: emulator.origin });
    await pages.get(address);
    const { action, fields } = pages.form('callback');
    const back = await pages.post(action, { ...fields, email });
    expect(back.location).toContain(`${BASE_URL}/connect/callback`);
    return back.location ?? '';
  }

  /** Deletes an account. */
  async remove({ id }: EmulatedAccount): Promise<void> {
    await request(this.server.url)
      .delete(`/a/${this.application.clientId}/accounts/${id}`)
      .set(this.application.secretBasic)
      .expect(200);
  }

  /** A call to Carillon's API. */
  async api(one: EmulatedAccount, method: Method, path: string, body?: object): Promise<Answer> {
    const response = await request(this.server.url)[method](path).set(one.bearer).send(body);
    expect([response.status, response.body.message]).toEqual([
      response.status === 202 ? 202 : 200,
      undefined,
    ]);
    return response.body;
  }

  /** Waits for a result. Waiting times of the account's work are skipped. */
  async eventually<T>(
    one: EmulatedAccount,
    what: string,
    probe: () => Promise<T | undefined | null | false>,
  ): Promise<T> {
    return until(what, async () => {
      const wait = await until('the work under way', () => this.#wait(one));
      const value = await probe();
      if (!value) await this.#pass(wait);
      return value;
    });
  }

  /** The result of a job. */
  async ended(one: EmulatedAccount, jobId: string): Promise<Answer> {
    return this.eventually(one, `the end of job ${jobId}`, async () => {
      const job = await this.api(one, 'get', `/job-statuses/${jobId}?view=expanded`);
      return ['successful', 'failed', 'cancelled'].includes(job.status) && job;
    });
  }

  /** The message with this subject, as soon as it is in the mirror. */
  async arrived(one: EmulatedAccount, subject: string): Promise<Answer> {
    const path = `/messages?subject=${encodeURIComponent(subject)}`;
    return this.eventually(
      one,
      `"${subject}"`,
      async () => (await this.api(one, 'get', path))[0] as Answer,
    );
  }

  /** Waits until the mirror shows the whole mailbox. */
  async running(one: EmulatedAccount): Promise<void> {
    await this.eventually(
      one,
      'the account to run',
      async () => (await this.api(one, 'get', '/account')).sync_state === 'running',
    );
  }

  /** Lets the next request of an account fail whose `METHOD path` matches. */
  fail(one: EmulatedAccount, what: RegExp, answer: FaultAnswer): void {
    const match = (sent: StubRequest) =>
      what.test(`${sent.method} ${sent.path}`) && one.emulator.isBy(one, sent);
    one.emulator.faults.add({ match, answer });
  }

  /** Lets no further request fail, and waits until the account has nothing to send or to write. */
  async finish(one: EmulatedAccount): Promise<void> {
    one.emulator.faults.clear();
    await this.eventually(one, 'the end of the work', async () => {
      const left = await rowsOf(
        this.server,
        `select 1 from send_job where account_id = $1
         union all select 1 from provider_job where account_id = $1`,
        [one.id],
      );
      return left.length === 0;
    });
  }

  /** Requests of an account whose `METHOD path` matches. */
  requestsOf(one: EmulatedAccount, what: RegExp): RecordedRequest[] {
    return one.emulator.requestsOf(what).filter((sent) => one.emulator.isBy(one, sent));
  }

  /** Milliseconds until the account's next work; null while some is due or under way. */
  async #wait({ id }: EmulatedAccount): Promise<number | null> {
    const [row] = await rowsOf<{ wait: number | null }>(
      this.server,
      `select extract(epoch from min(run_at) - now())::float * 1000 as wait
       from (select account_id, state, run_at from send_job
         union all select account_id, state, run_at from provider_job
         union all select account_id, state, run_at from sync_job) as work
       where account_id = $1 having bool_and(state = 0)`,
      [id],
    );
    return row?.wait && row.wait > 0 ? row.wait : null;
  }

  async #pass(wait: number): Promise<void> {
    await this.clock.pass(Math.ceil(wait));
    for (const queue of QUEUES) signals.wake(queue);
  }
}
