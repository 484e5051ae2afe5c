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
      kind: 'close',
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

  it('keeps the deadline: the last attempt is made at it', async () => {
    send.server.answers = Array.from({ length: 8 }, () => waits(40));
    const retry_limit_datetime = Math.floor(send.clock.now().getTime() / 1000) + 60;
    const id = await send.accept({ retry_limit_datetime });
    const times = await send.toTheEnd(id);
    expect(times).toHaveLength(3);
    const job = await send.job(id);
    expect(job).toMatchObject({ status: 'failed', reason: expect.stringContaining('40 s') });
    expect(job.attempts.map(({ rule }: { rule: string }) => rule)).toEqual([
      'own-limit', 'last-attempt', 'deadline',
    ]); // prettier-ignore
  });
});
