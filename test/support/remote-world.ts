import type { INestApplicationContext } from '@nestjs/common';
import { createApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import { createApplication, type TestApplication } from './factories.ts';
import { GoogleSide } from './google-side.ts';
import { UNPLEASANT_AT_ONCE } from './microsoft/settings.ts';
import { MicrosoftSide } from './microsoft-side.ts';
import { type RemoteSide, type SeenMailbox, sorted } from './remote-side.ts';
import { expectDocumented } from './remote-stub/remote-stub.ts';
import type { ServerProcess } from './server-process.ts';
import type { AcceptedMessage } from './smtp-sink-protocol.ts';
import { until } from './until.ts';
import { createWebhook } from './webhook-fixture.ts';
import {
  type FaultAccount,
  openWorldDatabase,
  WorkerWorld,
  type WorldDatabase,
} from './worker-world.ts';

/** An account at one of the stubs. */
export interface RemoteAccount extends FaultAccount {
  side: RemoteSide;
}

/** The next poll of every account is due at once. */
const POLL = `
  update sync_job set run_at = now() where id in (
    select id from sync_job where state = 0 and run_at > now() order by id for update skip locked)`;

/**
 * Messages on which a provider has failed are requested again at once. Otherwise a minute passes,
 * and longer after each further failure.
 */
const REQUEST_AGAIN = 'update sync_failure set retry_at = now() where retry_at > now()';

/** How much sooner budgets are filled and pauses end, each time that they are hastened. */
const HASTENED_SECONDS = 5;
/** How often at most, so that the providers' time does not run far ahead. */
const HASTEN_EVERY_MS = 300;
/** Messages and changes that wait for whatever reason are due at once. */
const HASTEN = ['send_job', 'provider_job'].map(
  (queue) => `
  update ${queue} set run_at = now() where id in (
    select id from ${queue} where state = 0 and run_at > now() order by id for update skip locked)`,
);
const HASTEN_BUDGETS = `
  update provider_bucket b set refilled_at = refilled_at - w.skipped, blocked_until = blocked_until - w.skipped
  from (select key, make_interval(secs => ${HASTENED_SECONDS}) as skipped
        from provider_bucket order by key for update skip locked) w
  where b.key = w.key`;

/** Labels that Gmail has in every mailbox, without standard names. */
const CATEGORIES = ['Social', 'Promotions', 'Updates', 'Forums'];

/** Worker processes of the built program with accounts at the stubs of Google and of Microsoft. */
export class RemoteWorld extends WorkerWorld {
  declare readonly accounts: RemoteAccount[];
  application!: TestApplication;
  #hastenedAt = -Infinity;
  /** How far the providers' clocks are ahead. */
  #skippedMs = 0;

  private constructor(
    database: WorldDatabase,
    readonly sides: readonly RemoteSide[],
  ) {
    super(database);
    for (const { stub } of sides) stub.now = () => Date.now() + this.#skippedMs;
    Object.assign(this.environment, { LOG_LEVEL: 'info' }, ...sides.map((one) => one.environment));
  }

  /** Starts the stubs and stores an application. No process runs, and no account is connected. */
  static async start(): Promise<RemoteWorld> {
    const [google, microsoft] = await Promise.all([
      GoogleSide.start(),
      MicrosoftSide.start(UNPLEASANT_AT_ONCE),
    ]);
    google.stub.habits.worst();
    const sides = [google, microsoft];
    const world = new RemoteWorld(await openWorldDatabase(), sides);
    await world.#seed();
    return world;
  }

  async #seed(): Promise<void> {
    const seed: INestApplicationContext = await createApp(
      loadConfig({ ...this.environment, ROLES: 'api', LOG_LEVEL: 'silent' }),
    );
    await seed.init();
    this.application = await createApplication(seed);
    const triggers = ['job.successful', 'job.failed'] as const;
    await createWebhook(seed, this.application, 'https://receiver.test', {
      triggers: [...triggers],
      state: 'failed',
    });
    await seed.close();
  }

  /** Registers the application at the providers, and connects accounts at each of them. */
  async connect(server: ServerProcess, perSide: number): Promise<void> {
    for (const side of this.sides) {
      await this.#call(server, '/connect/integrations', {
        name: side.provider,
        provider: side.provider,
        settings: side.integration,
        redirect_uris: ['https://app.example.test/callback'],
      });
      for (let n = 0; n < perSide; n += 1)
        await this.add(server, side, `person${n}@${side.provider}.test`);
    }
  }

  /** Connects one more account. */
  async add(server: ServerProcess, side: RemoteSide, email: string): Promise<RemoteAccount> {
    const settings = side.addUser(email);
    const { provider } = side;
    const answer = await this.#call(server, '/connect/grants', { provider, settings });
    const { id, access_token: token } = answer['data'] as { id: string; access_token: string };
    const bearer = { authorization: `Bearer ${token}` };
    const account = { id, email, token, bearer, side, hasSentFolder: true };
    this.accounts.push(account);
    return account;
  }

  async #call(server: ServerProcess, path: string, body: object): Promise<Record<string, unknown>> {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { ...this.application.basic, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    expect([path, response.status, answer['error']]).toEqual([path, 200, undefined]);
    return answer;
  }

  /** The first account at a provider. */
  accountAt(side: RemoteSide): RemoteAccount {
    const account = this.accounts.find((one) => one.side === side);
    if (!account) throw new Error(`No account of ${side.provider} is connected.`);
    return account;
  }

  async accepted(): Promise<AcceptedMessage[]> {
    return this.sides.flatMap((side) => side.accepted());
  }

  /**
   * Ends the waits of the retry schedules. For quotas, a few seconds pass: at the providers and in
   * our budgets alike, and at the providers first.
   */
  override async hasten(whose?: 'all' | 'unasked'): Promise<void> {
    await super.hasten(whose);
    for (const statement of HASTEN) await this.sql.query(statement);
    if (performance.now() - this.#hastenedAt < HASTEN_EVERY_MS) return;
    this.#hastenedAt = performance.now();
    this.#skippedMs += HASTENED_SECONDS * 1000;
    await this.sql.query(HASTEN_BUDGETS);
  }

  /** Expects that no quota of a provider was ever used up. */
  expectWithinQuotas(): void {
    const use = this.accounts.map(({ side, email }) => [email, side.overQuota(email)]);
    expect(use).toEqual(this.accounts.map(({ email }) => [email, []]));
  }

  /** Everything that a client sees of an account. */
  async mirror(server: ServerProcess, account: RemoteAccount): Promise<SeenMailbox> {
    const list = async <T>(path: string): Promise<T[]> => {
      const response = await fetch(`${server.url}${path}`, { headers: account.bearer });
      expect([path, response.status]).toEqual([path, 200]);
      return (await response.json()) as T[];
    };
    interface Shown {
      subject: string;
      unread: boolean;
      starred: boolean;
      folder?: { display_name: string };
      labels?: { display_name: string }[];
    }
    interface Named {
      name: string | null;
      display_name: string;
      is_primary?: boolean;
    }
    const organised = account.side.provider === 'google' ? 'labels' : 'folders';
    const [messages, drafts, folders, calendars, events, contacts] = await Promise.all([
      list<Shown>('/messages?limit=1000'),
      list<Shown>('/drafts?limit=1000'),
      list<Named>(`/${organised}?limit=1000`),
      list<Named>('/calendars?limit=1000'),
      list<{ title: string }>('/events?limit=1000'),
      list<{ given_name: string; surname: string }>('/contacts?limit=1000&source=address_book'),
    ]);
    return {
      messages: sorted(
        messages.map(({ subject, unread, starred, folder, labels = [] }) => ({
          subject,
          unread,
          starred,
          folders: sorted([...labels, ...(folder ? [folder] : [])].map((one) => one.display_name)),
        })),
      ),
      drafts: sorted(drafts.map(({ subject }) => subject)),
      folders: sorted(
        folders.flatMap(({ name, display_name }) =>
          name === null && !CATEGORIES.includes(display_name) ? [display_name] : [],
        ),
      ),
      calendars: sorted(
        calendars.flatMap(({ is_primary, name }) => (is_primary ? [] : [name ?? ''])),
      ),
      events: sorted(events.map(({ title }) => title)),
      contacts: sorted(
        contacts.map((one) => [one.given_name, one.surname].filter(Boolean).join(' ')),
      ),
    };
  }

  /** Waits until clients see of every account exactly what is at its provider. */
  async expectMirrored(
    server: ServerProcess,
    accounts: readonly RemoteAccount[] = this.accounts,
  ): Promise<void> {
    for (const account of accounts) {
      const theirs = () => account.side.seen(account.email);
      let ours: SeenMailbox | undefined;
      await until(
        `the mirror of ${account.email}`,
        async () => {
          await this.hasten();
          await this.sql.query(REQUEST_AGAIN);
          await this.sql.query(POLL);
          ours = await this.mirror(server, account);
          return JSON.stringify(ours) === JSON.stringify(theirs());
        },
        90_000,
      ).catch(() => expect(ours).toEqual(theirs()));
    }
  }

  override async close(): Promise<void> {
    await super.close();
    for (const { stub } of this.sides) {
      await stub.stop();
      expectDocumented(stub);
    }
  }
}
