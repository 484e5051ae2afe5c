import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { markByFailover } from '../support/marked-by-failover.ts';
import { beforeEachSend, type SendFixture } from '../support/send-fixture.ts';

const PROVES_NOTHING = { found: false, conclusive: false };
const FAILED_OVER = 'the database failed over, and may lack an attempt to send it';
const SINGLE = { retry_limit_datetime: 0 };

describe('SendDispatcher: messages that a failover of the database marked', () => {
  let send: SendFixture;
  beforeEachSend((one) => {
    send = one;
  });

  const failOver = async () => {
    await markByFailover(send.database, send.dispatcher().table);
    send.clock.advance(15_000);
  };
  const marked = async (body: object = {}, columns = {}) => {
    const id = await send.accept(body, columns);
    await failOver();
    return id;
  };
  /** A retry limit soon after the send time. */
  const limit = (seconds: number) => ({
    retry_limit_datetime: Math.ceil(Date.now() / 1000) + seconds,
  });
  const rules = async (id: string) =>
    (await send.job(id)).attempts.map(({ rule }: Record<string, string>) => rule);

  it('are sent once a look-up proves that they were not sent, also with a single attempt', async () => {
    const id = await marked(SINGLE);
    await send.toTheEnd(id);
    expect([send.server.lookUps, send.server.taken.length]).toEqual([1, 1]);
    expect(await send.job(id)).toMatchObject({ status: 'successful' });
  });

  it('are sent in the same way if the old server had claimed them', async () => {
    const id = await send.accept(SINGLE);
    await send.steps.claim(id);
    await failOver();
    await send.steps.sweep();
    await send.toTheEnd(id);
    expect([send.server.lookUps, send.server.taken.length]).toEqual([1, 1]);
    expect(await send.job(id)).toMatchObject({ status: 'successful' });
  });

  it('are sent after three look-ups that prove nothing, if they may arrive twice', async () => {
    send.server.lookUp = PROVES_NOTHING;
    const id = await marked(SINGLE);
    expect(await send.toTheEnd(id)).toEqual([0, 45, 165, 165]);
    expect([send.server.lookUps, send.server.taken.length]).toEqual([3, 1]);
    expect(await send.job(id)).toMatchObject({ status: 'successful' });
  });

  it('are sent after fewer look-ups if another one would come after the retry limit', async () => {
    send.server.lookUp = PROVES_NOTHING;
    const id = await marked(limit(60));
    expect(await send.toTheEnd(id)).toEqual([0, 0]);
    expect(await rules(id)).toEqual(['resend', null]);
    expect(await send.job(id)).toMatchObject({ status: 'successful' });
  });

  it('are sent after attempts of which the database knows, if another look-up would come too late', async () => {
    send.server.lookUp = PROVES_NOTHING;
    send.server.answers = [new ProviderError('temporary', '450', { phase: 'envelope' })];
    const id = await send.accept(limit(60));
    await send.steps.attempt(id);
    await send.database.query('update send_job set run_at = now() where id = $1', [id]);
    await failOver();
    await send.toTheEnd(id);
    expect(await rules(id)).toEqual(['backoff', 'resend', null]);
    expect(await send.job(id)).toMatchObject({ status: 'successful' });
  });

  it('are never sent if they must not arrive twice and look-ups prove nothing; the reason names the failover', async () => {
    send.server.lookUp = PROVES_NOTHING;
    const id = await marked(limit(60), { on_unknown: 'fail' });
    expect(await send.toTheEnd(id)).toEqual([0, 45, 165]);
    expect(send.server.taken).toEqual([]);
    expect(await send.job(id)).toMatchObject({
      status: 'failed',
      reason: `the outcome is unknown: ${FAILED_OVER}; it was not found among the sent messages, which proves nothing`,
    });
  });

  it('say that an attempt may be missing, and not that there was one, if the credentials are refused', async () => {
    send.server.lookUp = new ProviderError('auth-invalid', '535 no', { phase: 'login' });
    const id = await marked();
    await send.toTheEnd(id);
    expect(await send.job(id)).toMatchObject({
      status: 'failed',
      reason:
        'invalid authentication: 535 no; whether an earlier attempt succeeded is unknown, and whether there was one, because the database failed over',
    });
  });

  it('are not sent if a message like them was sent since', async () => {
    send.server.lookUp = { ...PROVES_NOTHING, similar: true };
    const id = await marked(limit(60));
    await send.toTheEnd(id);
    expect(send.server.taken).toEqual([]);
    expect((await send.job(id)).reason).toContain('a message with the same recipients');
  });

  it('are sent although the first look-ups failed', async () => {
    send.server.lookUp = new ProviderError('temporary', 'no connection', { phase: 'connect' });
    const id = await marked(SINGLE);
    await send.steps.attempt(id);
    await send.steps.attempt(id);
    send.server.lookUp = { found: false, conclusive: true };
    await send.toTheEnd(id);
    expect(await send.job(id)).toMatchObject({ status: 'successful' });
  });

  it('are sent before the retry limit if every look-up fails and they may arrive twice', async () => {
    send.server.lookUp = new ProviderError('temporary', 'no connection', { phase: 'connect' });
    const id = await marked(limit(120));
    await send.toTheEnd(id);
    expect(await rules(id)).toEqual(['look-up', 'look-up', 'resend', null]);
    expect(await send.job(id)).toMatchObject({ status: 'successful' });
  });

  it('are not sent later than any other message that had to wait', async () => {
    const id = await marked(SINGLE);
    send.clock.advance(3_660_000);
    await send.toTheEnd(id);
    expect(send.server.taken).toEqual([]);
    expect(await send.job(id)).toMatchObject({
      status: 'failed',
      reason: 'retry limit datetime reached; last error: no attempt was possible in time',
    });
  });

  it.each([
    [14, [], 'failed'],
    [60, [['bo@example.test']], 'successful'],
  ])(
    'and that may be at most %i s late are sent only in time',
    async (max_lateness_seconds, taken, status) => {
      const id = await marked({}, { on_missed: 'skip', max_lateness_seconds });
      await send.toTheEnd(id);
      expect(send.server.taken).toEqual(taken);
      const job = await send.job(id);
      expect(job.status).toBe(status);
      if (status === 'failed')
        expect(job.reason).toMatch(/^missed: found 1\d s after its send time/);
    },
  );

  it('count as attempted once they are handed off', async () => {
    const id = await marked(SINGLE);
    await send.steps.crash(id);
    send.clock.advance(15_000);
    await send.toTheEnd(id);
    expect(send.server.taken).toEqual([]);
    expect(await send.job(id)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('the outcome is unknown, and it was not found'),
    });
  });

  it('do not look like messages that a request sends', async () => {
    const id = await marked();
    const [row] = await send.database.query(
      'select fence > 0 as claimed from send_job where id = $1',
      [id],
    );
    expect(row).toEqual({ claimed: true });
  });
});
