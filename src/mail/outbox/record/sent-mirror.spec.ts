import type { Database } from '../../../platform/database/sql.ts';
import { type SentMessageStore, SentMirror } from './sent-mirror.ts';

const ADA = 'ada';
const BO = 'bo';
const row = (id: string) => ({ id, threadId: null, at: new Date(0) });

/** A mirror of messages in the outbox, by the id of their row, with the id of their account. */
function mirrorOf(accounts: Readonly<Record<string, string>>, store: SentMessageStore): SentMirror {
  const query = (_sql: string, [ids]: [string[]]) =>
    Promise.resolve(
      ids.map((id) => ({ id, accountId: accounts[id], mime: Buffer.from('Hello'), bcc: [] })),
    );
  const mirror = new SentMirror({ query } as unknown as Database);
  mirror.use(store);
  return mirror;
}

describe('adding sent messages to the mirror', () => {
  it('waits at shutdown for a message that is still being added', async () => {
    const free = Promise.withResolvers<void>();
    const mirror = mirrorOf({}, { add: () => free.promise });
    const ends: string[] = [];
    const adding = mirror.add(ADA, row('1'), () => Buffer.from('Hello'));
    const stopped = mirror.onModuleDestroy().then(() => ends.push('stopped'));
    await Promise.resolve();
    expect(ends).toEqual([]);
    free.resolve();
    await Promise.all([adding, stopped]);
    expect(ends).toEqual(['stopped']);
  });

  it('goes on with the next account after one that cannot be changed', async () => {
    const asked: string[] = [];
    const done = Promise.withResolvers<void>();
    const mirror = mirrorOf(
      { 1: ADA, 2: BO },
      {
        add: (accountId) => {
          asked.push(accountId);
          if (accountId === ADA) return Promise.reject(new Error('broken on purpose'));
          done.resolve();
          return Promise.resolve();
        },
      },
    );
    mirror.addSoon([row('1'), row('2')]);
    await done.promise;
    expect(asked).toEqual([ADA, BO]);
  });

  it('begins with no other account once the process stops', async () => {
    const asked: string[] = [];
    const begun = Promise.withResolvers<void>();
    const free = Promise.withResolvers<void>();
    const mirror = mirrorOf(
      { 1: ADA, 2: BO },
      {
        add: (accountId) => {
          asked.push(accountId);
          begun.resolve();
          return free.promise;
        },
      },
    );
    mirror.addSoon([row('1'), row('2')]);
    await begun.promise;
    const stopped = mirror.onModuleDestroy();
    free.resolve();
    await stopped;
    expect(asked).toEqual([ADA]);
  });
});
