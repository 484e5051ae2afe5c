import { randomInt } from 'node:crypto';
import { Database } from '../../src/platform/database/sql.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type {
  Connector,
  MailChanges,
  SyncPassRequest,
  RemoteMessage,
} from '../../src/providers/port/connector.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { expectThreadsRefreshed } from '../support/threads.ts';

const ROUNDS = 25;
const FOLDERS = ['inbox', 'sent', 'archive', 'drafts', 'trash'].map((name) => ({
  providerId: name,
  name,
  displayName: name,
}));
const FOLDER_NAMES = ['inbox', 'inbox', 'sent', 'archive', 'drafts', 'trash'];

describe('the columns that threads store about their messages', () => {
  let server: TestApp;
  let account: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    account = await createAccount(server.app, await createApplication(server.app));
  });
  afterAll(() => server.close());

  /** The messages at the provider, by an id that changes with the folder. */
  const present = new Map<string, RemoteMessage & { number: number }>();
  let [cursor, count] = [0, 0];
  const anyOf = <T>(list: readonly T[]) => list[randomInt(list.length)] as T;
  const idOf = (number: number) => `<${number}@random.test>`;

  function arrival(): RemoteMessage {
    const [number, folder] = [(count += 1), anyOf(FOLDER_NAMES)];
    // A reply to several messages makes their threads one. Some replies are to messages that arrive
    // later or never.
    const answered = Array.from({ length: randomInt(3) }, () => idOf(1 + randomInt(count + 5)));
    const lines = [
      `From: ${folder === 'sent' || randomInt(5) === 0 ? account.email : `p${randomInt(9)}@elsewhere.test`}`,
      `To: ${anyOf(['', 'Bo ', 'BO '])}<p${randomInt(9)}@elsewhere.test>, P${randomInt(3)}@elsewhere.test`,
      `Subject: ${answered.length > 0 ? 'Re: ' : ''}About ${randomInt(6)}`,
      `Message-ID: ${idOf(number)}`,
      ...(answered.length > 0 ? [`References: ${answered.join(' ')}`] : []),
      ...(randomInt(4) === 0 ? ['Content-Disposition: attachment; filename="a.txt"'] : []),
    ];
    const message = {
      number,
      providerId: `${folder}/${number}`,
      folderIds: [folder],
      receivedAt: new Date(Date.UTC(2026, 0, 1 + randomInt(300), 1, number % 60)),
      unread: randomInt(3) === 0,
      starred: randomInt(5) === 0,
      content: {
        kind: 'mime' as const,
        mime: Buffer.from(`${lines.join('\r\n')}\r\n\r\nHello\r\n`),
      },
    };
    present.set(message.providerId, message);
    return message;
  }

  /** Changes at the provider: new mail, changed flags, and moved or deleted messages. */
  function changesAtProvider(): Pick<MailChanges, 'messages' | 'removed'> {
    const changes = { messages: [] as RemoteMessage[], removed: [] as string[] };
    for (let number = 1 + randomInt(4); number > 0; number -= 1) changes.messages.push(arrival());
    const others = [...present.values()].filter((one) => !changes.messages.includes(one));
    for (const one of others.filter(() => randomInt(6) === 0)) {
      const kind = randomInt(3);
      if (kind > 0) {
        present.delete(one.providerId);
        changes.removed.push(one.providerId);
      }
      if (kind === 2) continue;
      const folder = kind === 1 ? anyOf(FOLDER_NAMES) : (one.folderIds[0] ?? '');
      const providerId = kind === 1 ? `${folder}/${one.number}/${cursor}` : one.providerId;
      const moved = {
        ...one,
        providerId,
        folderIds: [folder],
        unread: randomInt(2) === 0,
        starred: randomInt(2) === 0,
      };
      present.set(providerId, moved);
      changes.messages.push(moved);
    }
    return changes;
  }

  async function syncPass(): Promise<void> {
    const changes = changesAtProvider();
    let left = true;
    const listChanges = async (_: unknown, asked: SyncPassRequest): Promise<MailChanges> => {
      const mine = left ? changes : { messages: [], removed: [] };
      left = false;
      cursor += 1;
      const folders = asked.cursor === null ? FOLDERS : null;
      return { cursor: String(cursor), more: false, present: true, folders, renamed: [], ...mine };
    };
    server.app
      .get(ConnectorRegistry)
      .replace({ name: 'sandbox', mail: { listChanges } } as unknown as Connector);
    await syncAccount(server.app, server.app.get(MailboxSyncDispatcher), account.id);
  }

  it('are correct after every batch of random arrivals, flags, moves, merges, drafts and deletions', async () => {
    const database = server.app.get(Database);
    for (let round = 0; round < ROUNDS; round += 1) {
      await syncPass();
      await expectThreadsRefreshed(database);
    }
    const [seen] = await database.query<{ messages: number; threads: number }>(
      `select (select count(*) from message where account_id = $1) as messages,
         (select count(*) from thread where account_id = $1) as threads`,
      [account.id],
    );
    expect(seen?.messages).toBeGreaterThan(5);
    expect(seen?.threads).toBeLessThan(seen?.messages ?? 0);
  });
});
