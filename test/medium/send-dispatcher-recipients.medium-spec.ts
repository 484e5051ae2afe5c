import request from 'supertest';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import type { LoadedMessage } from '../../src/mail/outbox/send/send-dispatcher.ts';
import { queueStatements } from '../../src/platform/work/queue/queue-statements.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { beforeEachSend, type SendFixture, startSendFixtures } from '../support/send-fixture.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const [A, B, C] = ['a@example.test', 'b@example.test', 'c@example.test'];
const REFUSED = { email: B, reason: '550 no such user' };
const DEFERRED = { email: C, reason: '450 greylisted' };

describe('SendDispatcher: recipients', () => {
  let send: SendFixture;
  beforeEachSend((one) => {
    send = one;
  });

  const toAll = (overrides: object = {}) =>
    send.accept({ to: [{ email: A }, { email: B }], bcc: [{ email: C }], ...overrides });
  const events = async (id: string) => {
    const rows = await send.database.query<{ type: string; body: Buffer }>(
      `select type, body from webhook_event where application_id = $1 order by id`,
      [send.application.id],
    );
    return rows
      .map(({ type, body }) => ({ type, delta: JSON.parse(body.toString()).deltas[0] }))
      .filter(({ delta }) => delta.object_data.id === id)
      .map(({ type, delta }) => ({ type, extras: delta.object_data.attributes.extras }));
  };

  it('lists all recipients as accepted, without storing them, when all have accepted', async () => {
    const id = await toAll();
    await send.steps.attempt(id);
    expect((await send.job(id)).recipients).toEqual({ accepted: [A, B, C], refused: [] });
  });

  it('lists and reports recipients that refuse permanently, while the others have the message', async () => {
    await createWebhook(send.app.app, send.application, 'https://example.test/hook', {
      triggers: ['job.successful', 'job.delayed', 'job.failed'],
    });
    send.server.answers = [{ accepted: [A, C], refused: [REFUSED] }];
    const id = await toAll();
    await send.steps.attempt(id);
    expect(await send.job(id)).toMatchObject({
      status: 'successful',
      recipients: { accepted: [A, C], refused: [REFUSED] },
      attempts: [{ outcome: 'sent', detail: `250 ok; refused: ${B} (550 no such user)` }],
    });
    expect(await events(id)).toMatchObject([
      { type: 'job.successful', extras: { refused: [REFUSED] } },
    ]);
  });

  it('sends later to deferred recipients, and to no other recipient twice', async () => {
    send.server.answers = [
      { accepted: [A.toUpperCase()], refused: [REFUSED], deferred: [DEFERRED] },
    ];
    const id = await toAll();
    expect(outcomeOf(await send.steps.attempt(id)).next).toMatchObject({
      kind: 'again',
      ambiguous: false,
    });
    expect(await send.job(id)).toMatchObject({
      status: 'delayed',
      reason: `could not be sent yet: 250 ok; refused: ${B} (550 no such user); deferred: ${C} (450 greylisted)`,
      route: 'account',
      recipients: { accepted: [A], refused: [REFUSED] },
      attempts: [
        { outcome: 'sent', code: 'temporary', rule: 'backoff', next_at: expect.any(Number) },
      ],
    });
    await send.steps.attempt(id);
    expect(send.server.taken).toEqual([[A, B, C], [C]]);
    expect(await send.job(id)).toMatchObject({
      status: 'successful',
      recipients: { accepted: [A, C], refused: [REFUSED] },
    });
  });

  it('lists recipients that are deferred until the deadline, and reports success for the others', async () => {
    send.server.answers = Array.from({ length: 99 }, () => ({
      accepted: [],
      deferred: [DEFERRED],
    }));
    send.server.answers[0] = { accepted: [A, B], deferred: [DEFERRED] };
    const id = await toAll();
    await send.toTheEnd(id);
    const { status, recipients, attempts } = await send.job(id);
    expect(status).toBe('successful');
    expect(recipients.accepted).toEqual([A, B]);
    expect(recipients.refused).toMatchObject([
      { email: C, reason: expect.stringMatching(/^retry limit datetime reached/) },
    ]);
    expect(attempts.map(({ outcome }: { outcome: string }) => outcome).slice(0, 2)).toEqual([
      'sent',
      'not-sent',
    ]);
  });

  it('fails the message if no recipient has accepted it by the deadline', async () => {
    send.server.answers = [{ accepted: [], deferred: [DEFERRED] }];
    const id = await send.accept({ to: [{ email: C }], retry_limit_datetime: 0 });
    await send.toTheEnd(id);
    expect(await send.job(id)).toMatchObject({
      status: 'failed',
      route: null,
      recipients: { accepted: [], refused: [] },
    });
  });

  it('sends to deferred recipients through the mailing service when the account has reached its daily limit', async () => {
    send.relay.exists = true;
    send.server.answers = [
      { accepted: [A, B], deferred: [DEFERRED] },
      new ProviderError('quota-exhausted', '550 5.4.5', { phase: 'envelope' }),
    ];
    const id = await toAll();
    await send.toTheEnd(id);
    expect(send.relay.server.taken).toEqual([[C]]);
    expect(await send.job(id)).toMatchObject({ status: 'successful', route: 'relay' });
  });

  it('does not send again to recipients that have the message when the mailing service cannot be asked', async () => {
    const busy = { email: B, reason: '450 busy' };
    send.relay.error = new Error('its settings do not open');
    // The mailing service is asked for after the fifth attempt, which reaches one more recipient.
    send.server.answers = [
      { accepted: [A], deferred: [busy, DEFERRED] },
      ...Array.from({ length: 3 }, () => ({ accepted: [], deferred: [busy, DEFERRED] })),
      { accepted: [B], deferred: [DEFERRED] },
    ];
    const id = await toAll();
    await send.toTheEnd(id);
    expect(send.relay.asked).toBeGreaterThan(0);
    expect(send.server.taken.slice(4)).toEqual([[B, C], [C]]);
    expect(await send.job(id)).toMatchObject({
      status: 'successful',
      recipients: { accepted: [A, B, C] },
    });
  });

  it.each([
    [
      'rejected',
      new ProviderError('rejected', '550 no', { refused: [{ email: C, reason: '550 gone' }] }),
      '550 gone',
    ],
    ['auth-invalid', new ProviderError('auth-invalid', '535 no'), 'invalid authentication: 535 no'],
  ])(
    'reports success if some recipients have the message, even when the rest ends in: %s',
    async (_code, error, reason) => {
      send.server.answers = [{ accepted: [A, B], deferred: [DEFERRED] }, error];
      const id = await toAll();
      await send.toTheEnd(id);
      expect(await send.job(id)).toMatchObject({
        status: 'successful',
        recipients: { accepted: [A, B], refused: [{ email: C, reason }] },
      });
    },
  );

  it('reports success if some recipients have the message, even when it is quarantined', async () => {
    send.server.answers = [{ accepted: [A, B], deferred: [DEFERRED] }];
    const id = await toAll();
    await send.steps.attempt(id);
    const job = await send.steps.claim(id);
    await send.steps.settle(job, send.dispatcher().onPoison(job));
    const reason = 'quarantined: workers crashed several times while sending this message';
    expect(await send.job(id)).toMatchObject({
      status: 'successful',
      recipients: { refused: [{ email: C, reason }] },
    });
  });

  describe('after an unknown outcome', () => {
    const lost = (details: object) =>
      new ProviderError('outcome-unknown', 'lost', { phase: 'confirmation', ...details });
    const found = { found: true, conclusive: true };

    it('sends later to recipients that were deferred before, and to no other recipient twice', async () => {
      send.server.answers = [lost({ refused: [REFUSED], deferred: [DEFERRED] })];
      send.server.lookUp = new ProviderError('temporary', 'not now');
      const id = await toAll();
      await send.steps.attempt(id);
      await send.steps.attempt(id);
      send.server.lookUp = found;
      await send.steps.attempt(id);
      expect(await send.job(id)).toMatchObject({
        status: 'delayed',
        reason: `could not be sent yet: found among the sent messages; deferred: ${C}`,
        route: 'account',
        recipients: { accepted: [A], refused: [REFUSED] },
      });
      await send.toTheEnd(id);
      expect(send.server.taken).toEqual([[A, B, C], [C]]);
      expect(await send.job(id)).toMatchObject({
        status: 'successful',
        recipients: { accepted: [A, C], refused: [REFUSED] },
      });
    });

    it('lists recipients that refused the message before', async () => {
      send.server.answers = [lost({ refused: [REFUSED] })];
      send.server.lookUp = found;
      const id = await toAll();
      await send.toTheEnd(id);
      expect(await send.job(id)).toMatchObject({
        status: 'successful',
        recipients: { accepted: [A, C], refused: [REFUSED] },
      });
    });

    it('lists deferred recipients as refused when the deadline comes', async () => {
      send.server.answers = [lost({ deferred: [DEFERRED] })];
      send.server.lookUp = found;
      const id = await toAll({ retry_limit_datetime: 0 });
      await send.toTheEnd(id);
      expect(send.server.taken).toHaveLength(1);
      expect(await send.job(id)).toMatchObject({
        status: 'successful',
        recipients: { accepted: [A, B], refused: [{ email: C }] },
      });
    });

    it('sends again to all recipients, deferred ones too, when none of them has the message', async () => {
      send.server.answers = [lost({ deferred: [DEFERRED] }), lost({})];
      const id = await toAll();
      await send.steps.attempt(id);
      await send.steps.attempt(id);
      // A recipient deferred in the first attempt has been accepted in the second.
      send.server.lookUp = found;
      await send.toTheEnd(id);
      expect(send.server.taken).toEqual([
        [A, B, C],
        [A, B, C],
      ]);
      expect(await send.job(id)).toMatchObject({
        status: 'successful',
        recipients: { accepted: [A, B, C] },
      });
    });

    it('does not send twice to deferred recipients when a worker dies in the next attempt', async () => {
      send.server.answers = [lost({ deferred: [DEFERRED] })];
      const id = await toAll();
      await send.steps.attempt(id);
      await send.steps.crash(id);
      send.server.lookUp = found;
      await send.toTheEnd(id);
      expect(send.server.taken).toHaveLength(1);
      expect(await send.job(id)).toMatchObject({
        status: 'successful',
        recipients: { accepted: [A, B, C] },
      });
    });
  });

  it('draws no conclusion from a look-up when some recipients already have the message', async () => {
    const lost = new ProviderError('outcome-unknown', 'lost', { phase: 'confirmation' });
    send.server.answers = [{ accepted: [A, B], deferred: [DEFERRED] }, lost];
    send.server.lookUp = { found: true, conclusive: true };
    const id = await toAll();
    await send.toTheEnd(id);
    expect(send.server.taken).toEqual([[A, B, C], [C], [C]]);
    expect(send.server.lookUps).toBe(3);
    expect(await send.job(id)).toMatchObject({
      status: 'successful',
      recipients: { accepted: [A, B, C] },
    });
  });

  it("stores a server's reason even if it contains bytes that the database refuses", async () => {
    send.server.answers = [{ accepted: [A, C], refused: [{ email: B, reason: '550 \0\ud800' }] }];
    const id = await toAll();
    await send.steps.attempt(id);
    expect((await send.job(id)).recipients.refused).toEqual([{ email: B, reason: '550 \ufffd' }]);
  });

  it('lists recipients that have refused a message that no recipient has', async () => {
    send.server.answers = [new ProviderError('rejected', '550 no', { refused: [REFUSED] })];
    const id = await toAll();
    await send.steps.attempt(id);
    expect(await send.job(id)).toMatchObject({
      status: 'failed',
      recipients: { accepted: [], refused: [REFUSED] },
    });
  });
});

describe('SendDispatcher: messages found late', () => {
  let send: SendFixture;
  beforeEachSend((one) => {
    send = one;
  });

  const found = async (lateSeconds: number, columns: Record<string, unknown>) => {
    const id = await send.accept({}, columns);
    send.clock.advance(lateSeconds * 1000 + 500);
    return id;
  };

  it('are sent by default', async () => {
    const id = await found(7200, {});
    await send.steps.attempt(id);
    expect(await send.job(id)).toMatchObject({ status: 'successful' });
  });

  it('are skipped if the sender wants that, with the reason', async () => {
    const id = await found(61, { on_missed: 'skip', max_lateness_seconds: 60 });
    await send.steps.attempt(id);
    expect(send.server.taken).toEqual([]);
    expect(await send.job(id)).toMatchObject({
      status: 'failed',
      reason:
        'missed: found 61 s after its send time, which is later than max_lateness_seconds allows',
      attempts: [{ outcome: 'not-sent', route: null, rule: 'missed' }],
    });
  });

  it('are sent if they are no later than the sender allows', async () => {
    const id = await found(59, { on_missed: 'skip', max_lateness_seconds: 60 });
    await send.steps.attempt(id);
    expect(await send.job(id)).toMatchObject({ status: 'successful' });
  });

  it('are not skipped once an attempt has begun', async () => {
    send.server.answers = [new ProviderError('temporary', '450', { phase: 'envelope' })];
    const id = await send.accept({}, { on_missed: 'skip', max_lateness_seconds: 5 });
    expect(await send.toTheEnd(id)).toHaveLength(2);
    const crashed = await send.accept({}, { on_missed: 'skip', max_lateness_seconds: 5 });
    await send.steps.crash(crashed);
    send.clock.advance(60_000);
    await send.toTheEnd(crashed);
    for (const sent of [id, crashed])
      expect(await send.job(sent)).toMatchObject({ status: 'successful' });
  });
});

describe('SendDispatcher: loading', () => {
  let fixtures: Awaited<ReturnType<typeof startSendFixtures>>;
  beforeAll(async () => {
    fixtures = await startSendFixtures();
  });
  afterAll(() => fixtures.close());

  it('hands off sendable messages as soon as they are loaded, and none that has to be fetched or decided first', async () => {
    const send = await fixtures.next();
    const plain = await send.accept();
    const long = await send.accept({ body: 'x'.repeat(600_000) });
    const skipped = await send.accept({}, { on_missed: 'skip' });
    const cancelled = await send.accept();
    await send.database.query(
      `update job_status set status = 'cancelled', reason = 'asked for' where id = $1`,
      [cancelled],
    );
    const elsewhere = await send.accept();
    const ids = [plain, long, skipped, cancelled, elsewhere];
    const jobs = await Promise.all(ids.map((id) => send.steps.claim(id)));
    await send.database.query('update send_job set worker_id = 7 where id = any($1::uuid[])', [
      ids.slice(0, 4),
    ]);
    const text = queueStatements(send.dispatcher().table).load ?? '';
    const loaded = await send.database.query<{ id: string; handedOff: boolean }>(text, [
      [...ids, newId()],
      [...jobs.map(({ fence }) => fence), 1],
      7,
      [...jobs, null].map(() => true),
    ]);
    expect(new Map(loaded.map(({ id, handedOff }) => [id, handedOff]))).toEqual(
      new Map(ids.map((id) => [id, id === plain])),
    );
    const marked = await send.database.query(
      'select id from send_job where handoff_at is not null',
    );
    expect(marked).toEqual([{ id: plain }]);
  });

  it('loads no message for another account', async () => {
    const send = await fixtures.next();
    const job = await send.steps.claim(await send.accept());
    const other = await fixtures.next();
    await send.database.query('update send_job set account_id = $2 where id = $1', [
      job.id,
      other.account.id,
    ]);
    expect(await send.steps.load(job)).toBeUndefined();
  });

  it('fetches long messages when they are about to be sent', async () => {
    const send = await fixtures.next();
    const id = await send.accept({ body: 'x'.repeat(600_000) });
    const message = await send.steps.load<LoadedMessage>({ id, fence: 0 });
    expect(message?.mime).toBeNull();
    expect(message?.bytes).toBeGreaterThan(600_000);
    const lengths: number[] = [];
    const taken = send.server.send.bind(send.server);
    send.server.send = (outgoing, control) => {
      lengths.push(outgoing.mime.length);
      return taken(outgoing, control);
    };
    await send.steps.attempt(id);
    expect(lengths).toEqual([message?.bytes]);
    await request(send.app.url).get(`/job-statuses/${id}`).set(send.account.bearer).expect(200);
    expect(await send.job(id)).toMatchObject({ status: 'successful' });
  });

  it('keeps few long messages in memory at a time, and other messages do not wait for them', async () => {
    const send = await fixtures.next();
    const dispatcher = send.dispatcher();
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const gates = [first, second];
    const begun: number[] = [];
    const plain = send.server.send.bind(send.server);
    send.server.send = async (message, control) => {
      const long = message.mime.length > 600_000;
      begun.push(message.mime.length);
      if (long) await gates.shift()?.promise;
      return plain(message, control);
    };
    // The messages count as longer than half of the memory limit.
    const run = async (id: string, bytes?: number) => {
      const job = await send.steps.claim(id);
      const message = await send.steps.load<LoadedMessage>(job);
      return dispatcher.run(
        job,
        send.steps.lease(job),
        message && { ...message, ...(bytes ? { bytes } : {}) },
      );
    };
    const half = 150 * 1024 * 1024;
    const body = 'x'.repeat(600_000);
    const running = run(await send.accept({ body }), half);
    await until('the first to be sent', async () => begun.length === 1);
    const waiting = run(await send.accept({ body }), half);
    outcomeOf(await run(await send.accept()));
    expect(begun).toEqual([expect.any(Number), expect.any(Number)]);
    expect(begun[1]).toBeLessThan(600_000);
    first.resolve();
    outcomeOf(await running);
    await until('the second to be sent', async () => begun.length === 3);
    second.resolve();
    expect(outcomeOf(await waiting).result.move).toMatchObject({ to: 'successful' });
  });
});
