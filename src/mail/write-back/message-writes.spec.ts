import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import type {
  ProviderWrite,
  ProviderWriteHandler,
  ProviderWrites,
} from '../../accounts/provider-writes/provider-writes.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { Database } from '../../platform/database/sql.ts';
import type { MailboxPort } from '../../providers/port/connector.ts';
import { MessageWrites } from './message-writes.ts';

const MINUTE_MS = 60_000;
const SENT_AT = Date.UTC(2026, 10, 27, 12);

/** Tries a change of a message without a copy, and tells how long it waits, and what it asked. */
async function attempt(ageMs: number): Promise<{ waitMs: number; asked: boolean }> {
  const now = SENT_AT + ageMs;
  const statements: string[] = [];
  const query = (sql: string) => {
    statements.push(sql);
    return Promise.resolve([{ providerId: null, createdAt: new Date(SENT_AT) }]);
  };
  const handlers: ProviderWriteHandler<MailboxPort>[] = [];
  const writes = {
    register: (_action: string, _port: string, handler: ProviderWriteHandler<MailboxPort>) =>
      handlers.push(handler),
  };
  const messages = new MessageWrites(
    { query } as unknown as Database,
    writes as unknown as ProviderWrites,
    { now: () => new Date(now) } as Clock,
  );
  messages.onModuleInit();
  const write = { objectId: 'm', payload: { starred: true } } as unknown as ProviderWrite;
  const account = { accountId: 'a' } as ConnectedAccount;
  const outcome = await handlers[0]?.({} as MailboxPort, account, write);
  if (outcome?.kind !== 'waits') throw new Error(`not waiting: ${outcome?.kind}`);
  return {
    waitMs: outcome.until.getTime() - now,
    asked: statements.some((sql) => sql.includes('sync_job')),
  };
}

describe('a change of a sent message without a copy', () => {
  it.each([
    { age: 'at once', ageMs: 0, waitMs: 5_000, asked: true },
    { age: 'after half a minute', ageMs: 30_000, waitMs: 30_000, asked: true },
    { age: 'after ten minutes', ageMs: 10 * MINUTE_MS, waitMs: MINUTE_MS, asked: true },
    { age: 'after 100 minutes', ageMs: 100 * MINUTE_MS, waitMs: MINUTE_MS, asked: false },
    { age: 'after 105 minutes', ageMs: 105 * MINUTE_MS, waitMs: MINUTE_MS, asked: true },
  ])('waits a minute at most, and asks for ever fewer sync passes: $age', async (row) => {
    const { ageMs, waitMs, asked } = row;
    expect(await attempt(ageMs)).toEqual({ waitMs, asked });
  });
});
