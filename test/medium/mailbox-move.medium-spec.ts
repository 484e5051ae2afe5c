import { Database } from '../../src/platform/database/sql.ts';
import { AccountListeners } from '../../src/accounts/grants/account-listeners.ts';
import { emptyForMailbox } from '../../src/accounts/grants/moves/mailbox-move.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { ClaimLostError, MirrorRepository } from '../../src/sync/mirror.repository.ts';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { EngineSteps } from '../support/engine-steps.ts';
import { beforeEachSend, type SendFixture } from '../support/send-fixture.ts';

describe('moving an account to another mailbox while workers process its rows', () => {
  let send: SendFixture;
  beforeEachSend((one) => {
    send = one;
  });

  const move = () =>
    send.database.transaction((sql) =>
      emptyForMailbox(sql, send.app.app.get(AccountListeners), {
        applicationId: send.application.id,
        accountId: send.account.id,
        at: send.clock.now(),
      }),
    );
  const rowOf = async (id: string) => {
    const [row] = await send.database.query<{ held: boolean; state: number; waits: boolean }>(
      'select held, state, run_at >= retry_limit_at as waits from send_job where id = $1',
      [id],
    );
    return row;
  };
  // Read from the row, because the move has revoked the account's tokens.
  const jobOf = async (id: string) => {
    const [row] = await send.database.query('select status, reason from job_status where id = $1', [
      id,
    ]);
    return row;
  };

  it('takes a claimed message back from a worker that has not handed it off', async () => {
    const id = await send.accept();
    const job = await send.steps.claim(id);
    await move();
    expect(await rowOf(id)).toEqual({ held: true, state: 0, waits: true });
    const [row] = await send.database.query<{ fence: number }>(
      'select fence from send_job where id = $1',
      [id],
    );
    expect(row?.fence).toBeGreaterThan(job.fence);
    expect(await jobOf(id)).toEqual({
      status: 'delayed',
      reason: expect.stringContaining('moved to another mailbox'),
    });
  });

  it('leaves a message to its worker during the hand-off, and never sends it again', async () => {
    const id = await send.accept();
    await send.steps.handOff(await send.steps.claim(id));
    await move();
    expect(await rowOf(id)).toEqual({ held: true, state: 1, waits: false });
    await send.steps.sweep();
    const outcome = await send.steps.attempt(id);
    expect(outcome?.next).toMatchObject({ kind: 'again', ambiguous: true });
    expect(await rowOf(id)).toEqual({ held: true, state: 0, waits: true });
    expect(send.server.taken).toEqual([]);
  });

  it.each([
    ['a retry limit later than its send time', { seconds: 3_600 }],
    ['a single attempt', { seconds: 0 }],
  ])(
    'ends a message on hold with %s at its retry limit, and waits no longer',
    async (_, { seconds }) => {
      const sendAt = Math.floor(Date.now() / 1000) + 60;
      const id = await send.accept({
        send_at: sendAt,
        retry_limit_datetime: seconds && sendAt + seconds,
      });
      await move();
      if (seconds > 0) {
        const waiting = await send.steps.attempt(id);
        expect(waiting?.next).toMatchObject({
          kind: 'again',
          at: new Date((sendAt + seconds) * 1000),
        });
      }
      send.clock.advance(seconds * 1000);
      expect((await send.steps.attempt(id))?.next).toEqual({ kind: 'done' });
      expect(await jobOf(id)).toEqual({
        status: 'failed',
        reason: expect.stringContaining('its send_at was not changed'),
      });
      expect(send.server.taken).toEqual([]);
    },
  );

  it('does not search the new mailbox for messages of the old one', async () => {
    const id = await send.accept();
    await send.steps.crash(id);
    await move();
    send.clock.advance(24 * 3_600_000);
    expect((await send.steps.attempt(id))?.next).toEqual({ kind: 'done' });
    expect(send.server).toMatchObject({ lookUps: 0, taken: [] });
    expect(await jobOf(id)).toEqual({
      status: 'failed',
      reason: expect.stringContaining('whether an earlier attempt succeeded is unknown'),
    });
  });

  it('prevents a sync of the old mailbox from writing into the new mirror', async () => {
    const { id: accountId } = send.account;
    await scheduleSync(send.database, accountId);
    const [row] = await send.database.query<{ id: string }>(
      `update sync_job set cursor = 'old' where account_id = $1 returning id`,
      [accountId],
    );
    const syncs = send.app.app.get(MailboxSyncDispatcher, { strict: false });
    const steps = new EngineSteps(send.database, () => syncs);
    const { id, fence } = await steps.claim(row?.id ?? '');
    await move();
    const claim = { id, fence, accountId };
    const mirror = new MirrorRepository(send.app.app.get(Database));
    const write = () => mirror.withClaim(claim, 'of the old mailbox', () => Promise.resolve());
    await expect(write()).rejects.toThrow(ClaimLostError);
    const [now] = await send.database.query(
      'select cursor, state from sync_job where account_id = $1',
      [accountId],
    );
    expect(now).toEqual({ cursor: null, state: 0 });
    await steps.claim(id); // a sync of the new mailbox has begun
    await expect(write()).rejects.toThrow(ClaimLostError);
  });
});
