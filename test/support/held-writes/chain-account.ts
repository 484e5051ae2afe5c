import request from 'supertest';
import { schedulePushed } from '../../../src/accounts/sync-schedule/schedule-sync.ts';
import { Database } from '../../../src/platform/database/sql.ts';
import { createApplication } from '../factories.ts';
import type { SeenMailbox, SeenMessage } from '../remote-side.ts';
import { startTestApp, type TestApp } from '../test-app.ts';
import { until } from '../until.ts';
import { HeldConnector } from './held-connector.ts';
import type { WriteSide, WrittenAccount } from './write-side.ts';

const PATIENCE_MS = 60_000;
export type Method = 'get' | 'post' | 'put' | 'delete';
export type Kind = 'drafts' | 'folders' | 'calendars' | 'events' | 'contacts';
/** An object as the API shows it. */
export type Shown = Record<string, unknown> & { id: string; version?: number };

/** How objects of one kind are written and read. */
export interface ObjectKind {
  kind: Kind;
  /** What a sync pass has to read to see the objects. */
  resource: Resource;
  /** Path of the API. */
  path: (side: WriteSide) => string;
  fields: (title: string, chains: Chains) => object;
  title: (shown: Shown) => unknown;
}

/** What a sync pass can be asked to read. */
const RESOURCES = ['mail', 'calendars', 'contacts'] as const;
export type Resource = (typeof RESOURCES)[number];

/** One request of a chain. */
export type Step = 'create' | 'update' | 'delete' | 'send';

/** An account whose writes can be held back, and the requests of a test. */
export class Chains {
  calendarId = '';
  #tag = 0;

  private constructor(
    readonly server: TestApp,
    readonly side: WriteSide,
    readonly held: HeldConnector,
    private readonly account: WrittenAccount,
  ) {}

  static async start(side: WriteSide): Promise<Chains> {
    const server = await startTestApp({ SYNC_POLL_SECONDS: '5', ...side.environment });
    const held = HeldConnector.install(server.app, side.provider);
    const account = await side.connect(server, await createApplication(server.app));
    const chains = new Chains(server, side, held, account);
    await chains.synced();
    const calendar = await until('a calendar', async () =>
      (await chains.api<Shown[]>('get', '/calendars')).find((one) => one['read_only'] === false),
    );
    chains.calendarId = calendar.id;
    return chains;
  }

  /** A word that no other test has in its titles. */
  tag(): string {
    this.#tag += 1;
    return `chain-${this.#tag}-`;
  }

  async api<T = Shown>(method: Method, path: string, body?: object): Promise<T> {
    const { url } = this.server;
    const answer = await request(url)[method](path).set(this.account.bearer).send(body);
    expect([method, path, answer.status, answer.body.message]).toEqual([
      method,
      path,
      200,
      undefined,
    ]);
    return answer.body as T;
  }

  /** The address of the account. */
  get email(): string {
    return this.account.email;
  }

  /** Reads a path that answers with text. */
  async text(path: string, accept: string): Promise<string> {
    const headers = { ...this.account.bearer, accept };
    const answer = await fetch(this.server.url + path, { headers });
    expect([path, answer.status]).toEqual([path, 200]);
    return answer.text();
  }

  /** @returns the id of the file */
  async upload(filename: string, content: string): Promise<string> {
    const { url } = this.server;
    const answer = await request(url)
      .post('/files')
      .set(this.account.bearer)
      .attach('file', Buffer.from(content), { filename });
    expect(answer.status).toBe(200);
    return answer.body[0].id;
  }

  /** The messages with this tag at the provider. */
  async messages(tag: string): Promise<SeenMessage[]> {
    const { messages } = await this.side.seen();
    return messages.filter(({ subject }) => subject.startsWith(tag));
  }

  async #isIdle(queue: 'provider_job' | 'sync_job', condition: string): Promise<boolean> {
    const text = `select 1 from ${queue} where account_id = $1 and ${condition}`;
    return (await this.server.app.get(Database).query(text, [this.account.id])).length === 0;
  }

  /** Waits until every write has ended. */
  written(): Promise<boolean> {
    return until('the writes', () => this.#isIdle('provider_job', 'true'), PATIENCE_MS);
  }

  /**
   * Waits until a sync pass has been made that began after this call.
   * @param resources what it has to read. Google allows 90 requests for contacts a minute, so only
   *   tests of contacts ask for them. Default: everything
   */
  async synced(resources: readonly Resource[] = RESOURCES): Promise<void> {
    const idle = () => this.#isIdle('sync_job', '(state <> 0 or again or run_at <= now())');
    await until('an idle mirror', idle, PATIENCE_MS);
    const changed = resources.map((resource) => ({ accountId: this.account.id, resource }));
    await schedulePushed(this.server.app.get(Database), changed);
    await until('a sync pass', idle, PATIENCE_MS);
  }

  /** Objects in the mirror whose title has this tag. */
  async shown({ path, title }: ObjectKind, tag: string): Promise<Shown[]> {
    const at = path(this.side);
    const all = await this.api<Shown[]>('get', `${at}${at.includes('?') ? '&' : '?'}limit=1000`);
    return all.filter((one) => String(title(one)).startsWith(tag));
  }

  /** What the provider has with this tag. */
  async seen(tag: string): Promise<Pick<SeenMailbox, Kind> & { sent: string[] }> {
    const { messages, ...seen } = await this.side.seen();
    const tagged = (titles: readonly string[]) => titles.filter((title) => title.startsWith(tag));
    const { drafts, folders, calendars, events, contacts } = seen;
    return {
      drafts: tagged(drafts),
      folders: tagged(folders),
      calendars: tagged(calendars),
      events: tagged(events),
      contacts: tagged(contacts),
      sent: tagged(messages.map(({ subject }) => subject)),
    };
  }

  /** Makes a request of a chain. What it stores must be readable at once. */
  async step(kind: ObjectKind, step: Step, title: string, before?: Shown): Promise<Shown> {
    const after = await this.#request(kind, step, title, before);
    const path = step === 'send' ? '/messages' : pathOf(kind, this.side);
    if (step === 'delete') return after;
    const read = await this.api('get', `${path}/${after.id}`);
    expect(step === 'send' ? read.id : kind.title(read)).toBe(step === 'send' ? after.id : title);
    return after;
  }

  async #request(kind: ObjectKind, step: Step, title: string, before?: Shown): Promise<Shown> {
    const path = pathOf(kind, this.side);
    const version = before?.version === undefined ? {} : { version: before.version };
    if (step === 'create') return this.api('post', path, kind.fields(title, this));
    if (!before) throw new Error(`nothing to ${step}`);
    const one = `${path}/${before.id}`;
    if (step === 'update') return this.api('put', one, { ...kind.fields(title, this), ...version });
    if (step === 'send') return this.api('post', '/send', { draft_id: before.id, ...version });
    return this.api('delete', one, kind.kind === 'drafts' ? version : undefined);
  }
}

/** The path of a kind without its query. */
const pathOf = ({ path }: ObjectKind, side: WriteSide): string => path(side).replace(/\?.*/, '');
