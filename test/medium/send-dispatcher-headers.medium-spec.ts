import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { beforeEachSend, type SendFixture } from '../support/send-fixture.ts';

const [A, B, C] = ['a@example.test', 'b@example.test', 'c@example.test'] as const;
const ALL = { to: [A, B, C].map((email) => ({ email })) };
const LATER = { email: C, reason: '450 greylisted' };

/** A provider that takes the recipients from the message, as Gmail and Microsoft Graph do. */
describe('SendDispatcher: a provider that sends a message to all recipients or to none', () => {
  let send: SendFixture;
  beforeEachSend((one) => {
    send = one;
    send.server.recipientsFrom = 'headers';
  });

  const limit = new ProviderError('quota-exhausted', 'Daily limit', { phase: 'envelope' });

  /** The mailing service has delivered to some recipients, and is removed. */
  async function afterService(answer: object): Promise<string> {
    send.relay.exists = true;
    send.server.answers = [limit];
    send.relay.server.answers = [answer];
    const id = await send.accept(ALL);
    await send.steps.attempt(id);
    await send.steps.attempt(id);
    send.relay.exists = false;
    send.clock.advance(60_000);
    return id;
  }

  it('retries a message to all of its recipients', async () => {
    send.server.answers = [new ProviderError('temporary', '503', { phase: 'envelope' })];
    const id = await send.accept(ALL);
    await send.toTheEnd(id);
    expect(send.server.taken).toEqual([[A, B, C]]);
    expect(await send.job(id)).toMatchObject({ status: 'successful', route: 'account' });
  });

  it('is not asked to send to the rest after a mailing service has delivered to some', async () => {
    const { accepted, deferred } = { accepted: [A, B], deferred: [LATER] };
    const id = await afterService({ accepted, deferred });
    await send.steps.attempt(id);
    expect(send.server.taken).toEqual([]);
    const job = await send.job(id);
    // Some recipients have the message, so the job reports success and lists the rest.
    expect(job).toMatchObject({ status: 'successful', route: 'relay' });
    expect(job.recipients).toEqual({
      accepted: [A, B],
      refused: [
        { email: C, reason: expect.stringContaining('to all of its recipients or to none') },
      ],
    });
    expect(job.attempts.at(-1)).toMatchObject({ outcome: 'not-sent', rule: 'partly-sent' });
  });

  it('gets a message for all recipients if the mailing service has delivered to none', async () => {
    const refused = [{ email: B, reason: '550 no such user' }];
    const id = await afterService({
      accepted: [],
      refused,
      deferred: [{ ...LATER, email: A }, LATER],
    });
    await send.toTheEnd(id);
    expect(send.server.taken).toEqual([[A, B, C]]);
    const job = await send.job(id);
    expect(job).toMatchObject({ status: 'successful', route: 'account' });
    expect(job.recipients.refused).toEqual([]);
  });
});
