import { Database } from '../../../src/platform/database/sql.ts';
import { deliver } from '../deliver.ts';
import { createAccount, type TestAccount, type TestApplication } from '../factories.ts';
import { headersOf, headerValue } from '../google/gmail/mime.ts';
import { type SeenMailbox, sorted } from '../remote-side.ts';
import type { TestApp } from '../test-app.ts';
import type { WriteSide } from './write-side.ts';

interface StoredMessage {
  mime: Buffer;
  folders: string[];
  unread: boolean;
  starred: boolean;
}

/** The sandbox, as its own tables have it. */
export class SandboxSide implements WriteSide {
  readonly provider = 'sandbox';
  readonly unit = 'folder';
  readonly environment = {};
  readonly correspondent = 'bo@sandbox.test';
  #server!: TestApp;
  #account!: TestAccount;

  async connect(server: TestApp, application: TestApplication): Promise<TestAccount> {
    this.#server = server;
    this.#account = await createAccount(server.app, application, { mirrored: true });
    return this.#account;
  }

  async deliver(subject: string): Promise<void> {
    await deliver(this.#server, this.#account, [`Subject: ${subject}`, '', 'Hello']);
  }

  async seen(): Promise<SeenMailbox> {
    const list = <T extends object>(columns: string, table: string, condition = 'true') =>
      this.#server.app
        .get(Database)
        .query<T>(`select ${columns} from ${table} where address = $1 and ${condition}`, [
          this.#account.email,
        ]);
    const folders = await list<{ id: string; name: string }>(
      'id, display_name as name',
      'sandbox_folder',
    );
    const messages = await list<StoredMessage>(
      'mime, folders, unread, starred',
      'sandbox_message',
      'not deleted',
    );
    const named = async (columns: string, table: string, condition?: string) =>
      sorted(
        (await list<{ name: string }>(`${columns} as name`, table, condition)).map(
          ({ name }) => name,
        ),
      );
    const subjectOf = ({ mime }: StoredMessage) => headerValue(headersOf(mime), 'subject') ?? '';
    const names = new Map(folders.map(({ id, name }) => [id, name]));
    const isDraft = (message: StoredMessage) => message.folders.includes('drafts');
    return {
      drafts: sorted(messages.filter(isDraft).map(subjectOf)),
      messages: messages
        .filter((one) => !isDraft(one))
        .map((one) => ({
          subject: subjectOf(one),
          unread: one.unread,
          starred: one.starred,
          folders: sorted(one.folders.map((id) => names.get(id) ?? id)),
        })),
      folders: sorted(names.values()),
      calendars: await named(`data ->> 'name'`, 'sandbox_calendar', 'not is_primary'),
      events: await named(
        `data ->> 'title'`,
        'sandbox_event',
        `data ->> 'status' is distinct from 'cancelled'`,
      ),
      contacts: await named(`data ->> 'given_name'`, 'sandbox_contact', 'not deleted'),
    };
  }

  async stop(): Promise<void> {}
}
