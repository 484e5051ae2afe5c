import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import type {
  CalendarPort,
  Connector,
  ProviderAccount,
} from '../../src/providers/port/connector.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { createAccount, type TestAccount, type TestApplication } from './factories.ts';
import { HostedCalendars } from './hosted-calendars.ts';
import type { HostedTraits } from './hosted-events.ts';
import type { TestApp } from './test-app.ts';
import { until } from './until.ts';

type Method = 'get' | 'post' | 'put' | 'delete';

/** From now on the sandbox has these calendars. Its mail stays as it is. */
export function hostCalendars({ app }: TestApp, traits: HostedTraits = {}): HostedCalendars {
  const registry = app.get(ConnectorRegistry);
  const calendar = new HostedCalendars(traits);
  const sandbox = registry.require('sandbox');
  const connector = Object.create(sandbox, { calendar: { value: calendar } }) as Connector;
  registry.replace(connector);
  return calendar;
}

/** An account with hosted calendars, one of which is already in the mirror. */
export class HostedAccount<C extends Pick<CalendarPort, 'listCalendars'> = HostedCalendars> {
  constructor(
    private readonly server: TestApp,
    readonly account: TestAccount,
    readonly calendars: C,
    /** Id of the primary calendar in Carillon. */
    readonly calendarId: string,
    /** Id of the primary calendar at the provider. */
    readonly remoteCalendar: string,
  ) {}

  /** @param email default: any */
  static async connect<C extends Pick<CalendarPort, 'listCalendars'>>(
    server: TestApp,
    application: TestApplication,
    calendars: C,
    email?: string,
  ): Promise<HostedAccount<C>> {
    const overrides = email === undefined ? {} : { email };
    const account = await createAccount(server.app, application, { mirrored: true, ...overrides });
    const [calendar] = await calendars.listCalendars({
      ...account,
      settings: {},
    } as unknown as ProviderAccount);
    await until('the first sync pass', async () => {
      const rows = await server.app
        .get(Database)
        .query(`select 1 from calendar where account_id = $1 and events_since is not null`, [
          account.id,
        ]);
      return rows.length > 0;
    });
    const { body } = await request(server.url).get('/calendars').set(account.bearer);
    return new HostedAccount(
      server,
      account,
      calendars,
      (body as { id: string }[])[0]!.id,
      calendar!.providerId,
    );
  }

  get email(): string {
    return this.account.email;
  }

  call(method: Method, path: string, body?: object) {
    return request(this.server.url)[method](path).set(this.account.bearer).send(body);
  }

  /** @returns the body of the response, whose status must be 200 */
  async api(method: Method, path: string, body?: object) {
    const answer = await this.call(method, path, body);
    expect([answer.status, answer.body.message]).toEqual([200, undefined]);
    return answer.body;
  }

  /** Makes a sync pass over the calendars due at once and waits until it has ended. */
  sync(): Promise<void> {
    return this.#pass('calendars_at');
  }

  /** Like `sync`, for the contacts. */
  syncContacts(): Promise<void> {
    return this.#pass('contacts_at');
  }

  async #pass(column: 'calendars_at' | 'contacts_at'): Promise<void> {
    const { app } = this.server;
    const rows = (text: string) => app.get(Database).query(text, [this.account.id]);
    await until('the end of the previous sync pass', async () => {
      const asked = await rows(
        `update sync_job set ${column} = 'epoch', run_at = now() where account_id = $1 and state = 0 returning 1`,
      );
      return asked.length > 0;
    });
    app.get(Signals).wake('sync');
    await until('the end of the sync pass', async () => {
      const ended = await rows(
        `select 1 from sync_job where account_id = $1 and state = 0 and ${column} > 'epoch'`,
      );
      return ended.length > 0;
    });
  }

  /** Waits for the end of a job. */
  async outcome(id: string): Promise<{ status: string; reason?: string }> {
    return until(`the end of job ${id}`, async () => {
      const job = await this.api('get', `/job-statuses/${id}`);
      return ['pending', 'delayed'].includes(job.status) ? false : job;
    });
  }

  /** @returns id of the event whose write has reached the provider */
  async written({ id, job_status_id: job }: { id: string; job_status_id: string }) {
    expect(await this.outcome(job)).toMatchObject({ status: 'successful' });
    return id;
  }

  /** Types of the webhooks that were sent about this account's events. */
  async notified(): Promise<string[]> {
    const rows = await this.server.app
      .get(Database)
      .query<{ type: string }>(
        `select type from webhook_event where convert_from(body, 'utf8') like '%' || $1 || '%' and type like 'event.%' order by id`,
        [this.account.id],
      );
    return rows.map(({ type }) => type);
  }
}
