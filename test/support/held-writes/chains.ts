import request from 'supertest';
import { schedulePushed } from '../../../src/accounts/sync-schedule/schedule-sync.ts';
import { Database } from '../../../src/platform/database/sql.ts';
import { createApplication } from '../factories.ts';
import type { SeenMailbox } from '../remote-side.ts';
import { startTestApp, type TestApp } from '../test-app.ts';
import { until } from '../until.ts';
import { HeldConnector } from './held-connector.ts';
import type { WriteSide, WrittenAccount } from './write-side.ts';

const PATIENCE_MS = 60_000;
type Method = 'get' | 'post' | 'put' | 'delete';
type Kind = 'drafts' | 'folders' | 'calendars' | 'events' | 'contacts';
/** An object as the API shows it. */
type Shown = Record<string, unknown> & { id: string; version?: number };

/** How objects of one kind are written and read. */
interface ObjectKind {
  kind: Kind;
  /** Path of the API. */
  path: (side: WriteSide) => string;
  fields: (title: string, chains: Chains) => object;
  title: (shown: Shown) => unknown;
}

const TOMORROW = Math.floor(Date.now() / 1000) + 86_400;

const KINDS: readonly ObjectKind[] = [
  {
    kind: 'drafts',
    path: () => '/drafts',
    fields: (subject, { side }) => ({
      subject,
      body: `<p>${subject}</p>`,
      to: [{ email: side.correspondent }],
    }),
    title: ({ subject }) => subject,
  },
  {
    kind: 'folders',
    path: ({ unit }) => `/${unit}s`,
    fields: (display_name) => ({ display_name }),
    title: ({ display_name }) => display_name,
  },
  {
    kind: 'calendars',
    path: () => '/calendars',
    fields: (name) => ({ name }),
    title: ({ name }) => name,
  },
  {
    kind: 'events',
    path: () => '/events',
    fields: (title, { calendarId }) => ({
      title,
      calendar_id: calendarId,
      when: { start_time: TOMORROW, end_time: TOMORROW + 3600 },
    }),
    title: ({ title }) => title,
  },
  {
    kind: 'contacts',
    path: () => '/contacts?source=address_book',
    fields: (given_name) => ({ given_name }),
    title: ({ given_name }) => given_name,
  },
];

type Step = 'create' | 'update' | 'delete' | 'send';
/** `given`: the object is at the provider before the chain begins, with the title `v0`. */
const CHAINS: readonly { given: boolean; steps: readonly Step[] }[] = [
  { given: false, steps: ['create', 'update', 'update'] },
  { given: false, steps: ['create', 'update', 'delete'] },
  { given: false, steps: ['create', 'delete'] },
  { given: true, steps: ['update', 'update', 'update'] },
  { given: true, steps: ['update', 'update', 'delete'] },
];
const SENDING: typeof CHAINS = [
  { given: false, steps: ['create', 'update', 'send'] },
  { given: true, steps: ['update', 'update', 'send'] },
];

/** An account whose writes can be held back, and the requests of a test. */
class Chains {
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

  async #isIdle(queue: 'provider_job' | 'sync_job', condition: string): Promise<boolean> {
    const text = `select 1 from ${queue} where account_id = $1 and ${condition}`;
    return (await this.server.app.get(Database).query(text, [this.account.id])).length === 0;
  }

  /** Waits until every write has ended. */
  written(): Promise<boolean> {
    return until('the writes', () => this.#isIdle('provider_job', 'true'), PATIENCE_MS);
  }

  /** Waits until a sync pass over everything has been made that began after this call. */
  async synced(): Promise<void> {
    const idle = () => this.#isIdle('sync_job', '(state <> 0 or again or run_at <= now())');
    await until('an idle mirror', idle, PATIENCE_MS);
    const resources = ['mail', 'calendars', 'contacts'] as const;
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

  async step(kind: ObjectKind, step: Step, title: string, before?: Shown): Promise<Shown> {
    const path = kind.path(this.side).replace(/\?.*/, '');
    const version = before?.version === undefined ? {} : { version: before.version };
    if (step === 'create') return this.api('post', path, kind.fields(title, this));
    if (!before) throw new Error(`nothing to ${step}`);
    const one = `${path}/${before.id}`;
    if (step === 'update') return this.api('put', one, { ...kind.fields(title, this), ...version });
    if (step === 'send') return this.api('post', '/send', { draft_id: before.id, ...version });
    return this.api('delete', one, kind.kind === 'drafts' ? version : undefined);
  }
}

/** Registers the tests of one provider. The caller wraps them in a `describe`. */
export function describeChains(start: () => Promise<WriteSide>): void {
  let side: WriteSide;
  let chains: Chains;

  beforeAll(async () => {
    side = await start();
    chains = await Chains.start(side);
  });
  afterAll(async () => {
    await chains.server.close();
    await side.stop();
  });

  const cases = KINDS.flatMap((kind) =>
    [...CHAINS, ...(kind.kind === 'drafts' ? SENDING : [])].map(({ given, steps }) => {
      const what = `${kind.kind}: ${given ? 'given, ' : ''}${steps.join(', ')}`;
      return { what, kind, given, steps };
    }),
  );

  it.each(cases)(
    'ends as asked when the first of several writes is still on its way: $what',
    async ({ kind, given, steps }) => {
      const tag = chains.tag();
      let object: Shown | undefined;
      if (given) {
        object = await chains.step(kind, 'create', `${tag}v0`);
        await chains.written();
        await chains.synced();
      }
      const id = object?.id;
      const { cursor_end: cursor } = await chains.api<{ cursor_end: string }>(
        'get',
        `/delta?cursor=${(await chains.api<{ cursor: string }>('post', '/delta/latest_cursor')).cursor}`,
      );
      const held = chains.held.hold();
      object = await chains.step(kind, steps[0]!, `${tag}v1`, object);
      await held.made;
      // A pass that sees the object before its id is known here.
      await chains.synced();
      for (const [index, step] of steps.entries())
        if (index > 0) {
          const after = await chains.step(kind, step, `${tag}v${index + 1}`, object);
          object = { ...object, ...(step === 'update' ? after : {}) };
        }
      held.release();
      await chains.written();
      await chains.synced();

      const last = steps.at(-1)!;
      const stays = last === 'create' || last === 'update';
      const title = `${tag}v${steps.length}`;
      const wanted = {
        drafts: [],
        folders: [],
        calendars: [],
        events: [],
        contacts: [],
        sent: last === 'send' ? [`${tag}v${steps.length - 1}`] : [],
        [kind.kind]: stays ? [title] : [],
      };
      expect(await chains.seen(tag)).toEqual(wanted);
      const shown = await chains.shown(kind, tag);
      const isThere = (one: Shown) => one['status'] !== 'cancelled';
      expect(shown.filter(isThere).map((one) => [one.id, kind.title(one)])).toEqual(
        stays ? [[id ?? object.id, title]] : [],
      );
      const { deltas } = await chains.api<{
        deltas: { object: string; event: string; id: string }[];
      }>('get', `/delta?cursor=${cursor}`);
      const word = kind.kind === 'folders' ? side.unit : kind.kind.slice(0, -1);
      const ofObject = deltas.filter((one) => one.id === object.id && one.object === word);
      expect(ofObject.map(({ event }) => event === 'delete')).toEqual([!stays]);
      const created = deltas.filter((one) => one.event === 'create' && one.object === word);
      expect(created.filter((one) => one.id !== object.id)).toEqual([]);
    },
  );
}
