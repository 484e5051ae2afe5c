import { BudgetExhaustedError } from '../../src/platform/budgets/budget-exhausted-error.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { beforeEachSend, type SendFixture } from '../support/send-fixture.ts';

describe('SendDispatcher: our own limit on requests to the provider', () => {
  let send: SendFixture;
  beforeEachSend((one) => {
    send = one;
  });

  const waits = (seconds: number) => new BudgetExhaustedError(seconds);

  it('makes a message wait without counting a failed attempt, and says so in its timeline', async () => {
    send.server.answers = [
      ...Array.from({ length: 12 }, () => waits(7)),
      new ProviderError('temporary', '421 Try later', { phase: 'envelope' }),
    ];
    const id = await send.accept();
    const times = await send.toTheEnd(id);
    expect(times.slice(0, 13)).toEqual(Array.from({ length: 13 }, (_, n) => n * 7));
    // The failure after the waits is the first one.
    expect(Math.abs((times[13] ?? 0) - 84 - 30)).toBeLessThanOrEqual(3.1);
    expect(send.server.taken).toHaveLength(1);
    const job = await send.job(id);
    expect(job.status).toBe('successful');
    expect(job.attempts[0]).toMatchObject({
      outcome: 'not-sent',
      code: 'rate-limited',
      rule: 'own-limit',
      detail:
        "Carillon waits for 7 s, so that the account stays below its provider's limit on requests",
    });
  });

  it('shows the wait as the reason of the delay', async () => {
    send.server.answers = [waits(7)];
    const id = await send.accept();
    await send.steps.attempt(id);
    expect(await send.job(id)).toMatchObject({
      status: 'delayed',
      reason:
        "not sent yet: Carillon waits for 7 s, so that the account stays below its provider's limit on requests",
    });
  });

  it('makes the other messages of the account wait without attempts', async () => {
    send.server.answers = [waits(7)];
    const outcome = outcomeOf(await send.steps.attempt(await send.accept()));
    expect(outcome.gate).toEqual({
      kind: 'stop',
      seconds: 7,
      reason:
        "Carillon waits for 7 s, so that the account stays below its provider's limit on requests",
    });
  });

  it('does not hand messages to the mailing service', async () => {
    send.relay.exists = true;
    send.server.answers = Array.from({ length: 8 }, () => waits(7));
    const id = await send.accept();
    await send.toTheEnd(id);
    expect(send.relay.server.taken).toEqual([]);
    expect(await send.job(id)).toMatchObject({ status: 'successful', route: 'account' });
  });

  it('tries a message with a single attempt as soon as the limit allows it', async () => {
    send.server.answers = [waits(15), waits(15)];
    const id = await send.accept({ retry_limit_datetime: 0 });
    expect(await send.toTheEnd(id)).toEqual([0, 15, 30]);
    expect(send.server.taken).toHaveLength(1);
    const { status, attempts } = await send.job(id);
    expect(status).toBe('successful');
    expect(attempts[0]).toMatchObject({ rule: 'own-limit' });
  });

  it('gives a message with a single attempt up after an hour', async () => {
    send.server.answers = Array.from({ length: 8 }, () => waits(1_500));
    const id = await send.accept({ retry_limit_datetime: 0 });
    expect(await send.toTheEnd(id)).toEqual([0, 1_500, 3_000, 3_660]);
    expect(send.server.taken).toEqual([]);
    expect(await send.job(id)).toMatchObject({ status: 'failed' });
  });

  it('keeps the deadline: after the attempt at it, a message waits a minute at most', async () => {
    send.server.answers = Array.from({ length: 8 }, () => waits(40));
    const retry_limit_datetime = Math.floor(send.clock.now().getTime() / 1000) + 60;
    const id = await send.accept({ retry_limit_datetime });
    const times = await send.toTheEnd(id);
    expect(times.map((at) => Math.round(at / 10) * 10)).toEqual([0, 40, 60, 100, 120]);
    const job = await send.job(id);
    expect(job).toMatchObject({ status: 'failed', reason: expect.stringContaining('40 s') });
    expect(job.attempts.map(({ rule }: { rule: string }) => rule)).toEqual([
      'own-limit',
      'last-attempt',
      'own-limit',
      'own-limit',
      'deadline',
    ]);
  });
});
