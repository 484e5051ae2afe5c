import request from 'supertest';
import { Database } from '../../../src/platform/database/sql.ts';
import { listFailures } from '../../../src/sync/failures/sync-failures.ts';
import type { TestApp } from '../test-app.ts';
import type { CalendarAnswer, ContactAnswer, MailAnswer } from './answers.ts';
import {
  intervalsOf,
  MOST_INSTANCES,
  shownContact,
  shownEvent,
  shownFile,
  shownMessage,
  type ShownWhen,
  SPAN_SECONDS,
  startOf,
  textOf,
} from './shown.ts';

/** An account whose files are mirrored. */
export interface CorpusAccount {
  id: string;
  bearer: Record<string, string>;
}

interface FileView {
  id: string;
  filename: string;
}
interface EventView {
  id: string;
  when: ShownWhen;
}
interface ContactView {
  id: string;
  groups: { path: string }[];
  picture_url: string | null;
}

/** What the API answers, over HTTP, about the files in the mirror of an account. */
export class MirroredFiles {
  constructor(
    private readonly server: TestApp,
    private readonly account: CorpusAccount,
  ) {}

  /** @param uid of the message in its only folder */
  async message(uid: number): Promise<MailAnswer & { id: string }> {
    const [id] = await this.#ids('message', `%;${uid}`);
    if (!id) throw new Error('the message is not in the mirror');
    const message = await this.#get<{ body: string; files: FileView[] }>(
      `/messages/${id}?view=expanded`,
    );
    const files = [];
    for (const file of message.files) {
      const bytes = await this.#bytes(`/files/${file.id}/download`);
      files.push({ ...shownFile(file), bytes: bytes.toString('latin1') });
    }
    return { id, message: shownMessage(message), text: textOf(message.body), files };
  }

  /** Ids of the messages that a word finds. */
  async found(word: string): Promise<string[]> {
    const found = await this.#get<{ id: string }[]>(
      `/messages/search?limit=1000&q=${encodeURIComponent(word)}`,
    );
    return found.map(({ id }) => id);
  }

  /** @param path of the object on its server */
  async events(path: string): Promise<CalendarAnswer> {
    const ids = await this.#ids('event', path, `${path}#%`);
    const all = await this.#get<EventView[]>('/events?limit=1000&view=expanded');
    const events = all.filter(({ id }) => ids.includes(id));
    const first = Math.min(...events.map(({ when }) => startOf(when)));
    const span = `starts_after=${first - 1}&starts_before=${first + SPAN_SECONDS}`;
    const instances = [];
    for (const { id } of events)
      instances.push(
        ...(await this.#get<EventView[]>(
          `/events?event_id=${id}&expand_recurring=true&limit=${MOST_INSTANCES}&${span}`,
        )),
      );
    return {
      events: events.map(shownEvent),
      instances: intervalsOf(instances.map(({ when }) => when)),
      failures: await this.#failures(path),
    };
  }

  /** @param path of the card on its server */
  async contacts(path: string): Promise<ContactAnswer> {
    const contacts = [];
    for (const id of await this.#ids('contact', path)) {
      const contact = await this.#get<ContactView>(`/contacts/${id}?view=expanded`);
      contacts.push(shownContact(contact, contact.picture_url && (await this.#picture(id))));
    }
    return { contacts, failures: await this.#failures(path) };
  }

  /** Ids of the objects whose name at the provider is like one of the patterns. */
  async #ids(table: 'message' | 'event' | 'contact', ...patterns: string[]): Promise<string[]> {
    const text = `select id from ${table} where account_id = $1 and provider_id like any($2)`;
    const rows = await this.server.app
      .get(Database)
      .query<{ id: string }>(text, [this.account.id, patterns]);
    return rows.map(({ id }) => id);
  }

  async #failures(path: string): Promise<string[]> {
    const all = await listFailures(this.server.app.get(Database), 1_000, this.account.id);
    return all.filter(({ providerId }) => providerId === path).map(({ reason }) => reason);
  }

  async #get<T>(path: string): Promise<T> {
    const answer = await request(this.server.url).get(path).set(this.account.bearer);
    if (answer.status !== 200) throw new Error(`${path} answers ${answer.status}: ${answer.text}`);
    return answer.body as T;
  }

  async #bytes(path: string): Promise<Buffer> {
    const answer = await fetch(this.server.url + path, { headers: this.account.bearer });
    if (!answer.ok) throw new Error(`${path} answers ${answer.status}`);
    return Buffer.from(await answer.arrayBuffer());
  }

  async #picture(id: string): Promise<string | null> {
    const answer = request(this.server.url).get(`/contacts/${id}/picture`).set(this.account.bearer);
    return (await answer.expect(200)).headers['content-type'] ?? null;
  }
}
