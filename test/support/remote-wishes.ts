import { call, type CallResponse } from './fault-load.ts';
import { sorted } from './remote-side.ts';
import type { RemoteAccount } from './remote-world.ts';
import type { ServerProcess } from './server-process.ts';

interface Made {
  id: string;
  version?: number;
}

interface Listed {
  id: string;
  is_primary?: boolean;
}

type Method = Parameters<typeof call>[2];

/**
 * What a client asks for through the API, and what therefore must be at the provider in the end.
 * Names contain the account, so that nothing of another account is taken for its own.
 */
export class RemoteWishes {
  readonly #made = new Map<string, Made>();
  readonly #email: string;

  /** @param server gives the server of the next request */
  constructor(
    readonly account: RemoteAccount,
    private readonly server: () => ServerProcess,
  ) {
    this.#email = account.email;
  }

  /** Creates drafts, folders, calendars, events and contacts. */
  async create(): Promise<void> {
    for (const n of [1, 2, 3]) {
      await this.#make('/drafts', `draft ${n}`, { subject: this.#name(`draft ${n}`), body: 'Hi' });
      await this.#make(this.#folders, `folder ${n}`, { display_name: this.#name(`folder ${n}`) });
      await this.#make('/contacts', `contact ${n}`, {
        given_name: this.#name(`contact ${n}`),
        surname: 'Test',
      });
    }
    const team = await this.#make('/calendars', 'team', { name: this.#name('team') });
    const primary = (await this.#list('/calendars')).find(({ is_primary }) => is_primary)?.id;
    for (const [n, calendar_id] of [team.id, primary, primary].entries())
      await this.#make(
        '/events',
        `event ${n}`,
        {
          calendar_id,
          title: this.#name(`event ${n}`),
          when: { start_time: 2_000_000_000, end_time: 2_000_003_600 },
          participants: [{ email: 'guest@elsewhere.test' }],
        },
        '?notify_participants=true',
      );
  }

  /** Changes the first of everything and deletes the second. Also sorts the delivered messages. */
  async change(): Promise<void> {
    await this.#put('/drafts', 'draft 1', { subject: this.#name('draft 1, changed') });
    await this.#put(this.#folders, 'folder 1', { display_name: this.#name('folder 1, changed') });
    await this.#put('/contacts', 'contact 1', { surname: 'Changed' });
    await this.#put('/calendars', 'team', { name: this.#name('team, changed') });
    const query = '?notify_participants=true';
    await this.#put('/events', 'event 1', { title: this.#name('event 1, changed') }, query);
    await this.#delete('/drafts', 'draft 2');
    await this.#delete(this.#folders, 'folder 2');
    await this.#delete('/contacts', 'contact 2');
    await this.#delete('/events', 'event 2', query);
    const folder = this.#made.get('folder 3')?.id;
    const place = this.#isGoogle ? { label_ids: [folder] } : { folder_id: folder };
    const [[first], [second]] = (await Promise.all(
      [1, 2].map((n) => this.#list(`/messages?subject=${encodeURIComponent(`news ${n}`)}`)),
    )) as [Listed[], Listed[]];
    if (!first || !second) throw new Error(`${this.#email} has too few messages`);
    await this.#call('PUT', `/messages/${first.id}`, { unread: false, starred: true });
    await this.#call('PUT', `/messages/${second.id}`, { unread: false, ...place });
  }

  /** What must be at the provider after `change`, apart from messages. */
  get wanted() {
    const names = (...all: string[]) => sorted(all.map((name) => this.#name(name)));
    return {
      drafts: names('draft 1, changed', 'draft 3'),
      folders: names('folder 1, changed', 'folder 3'),
      calendars: names('team, changed'),
      events: names('event 0', 'event 1, changed'),
      contacts: sorted([`${this.#name('contact 1')} Changed`, `${this.#name('contact 3')} Test`]),
    };
  }

  /** What the provider must have mailed to participants. */
  get mails(): string[] {
    const invitations = ['event 0', 'event 1', 'event 2'].map(
      (one) => `invitation ${this.#name(one)}`,
    );
    return [
      ...invitations,
      `update ${this.#name('event 1, changed')}`,
      `cancellation ${this.#name('event 2')}`,
    ];
  }

  get #isGoogle(): boolean {
    return this.account.side.provider === 'google';
  }

  get #folders(): string {
    return this.#isGoogle ? '/labels' : '/folders';
  }

  #name(what: string): string {
    return `${what} of ${this.#email.replace(/@.*/, '')}`;
  }

  async #make(path: string, key: string, body: object, query = ''): Promise<Made> {
    const made = (await this.#call('POST', path + query, body)) as unknown as Made;
    this.#made.set(key, made);
    return made;
  }

  async #put(path: string, key: string, body: object, query = ''): Promise<void> {
    const { id, version } = this.#require(key);
    const json = version === undefined ? body : { ...body, version };
    const made = await this.#call('PUT', `${path}/${id}${query}`, json);
    this.#made.set(key, made as unknown as Made);
  }

  async #delete(path: string, key: string, query = ''): Promise<void> {
    const { id, version } = this.#require(key);
    await this.#call('DELETE', `${path}/${id}${query}`, version === undefined ? {} : { version });
  }

  #require(key: string): Made {
    const made = this.#made.get(key);
    if (!made) throw new Error(`${key} was not created`);
    return made;
  }

  async #call(method: Method, path: string, body: object): Promise<CallResponse['body']> {
    const answer = await call(this.server(), this.account, method, path, { body });
    expect([path, answer?.status, answer?.body['message']]).toEqual([path, 200, undefined]);
    return answer?.body ?? {};
  }

  async #list(path: string): Promise<Listed[]> {
    const response = await fetch(this.server().url + path, { headers: this.account.bearer });
    return (await response.json()) as Listed[];
  }
}
