import request from 'supertest';
import {
  ProviderError,
  type ProviderErrorCode,
  type SendPhase,
} from '../../src/platform/base/errors/provider-error.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { beforeEachSend, type SendFixture } from '../support/send-fixture.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const DAY = 86_400;

describe('SendDispatcher: routes', () => {
  let send: SendFixture;
  beforeEachSend((one) => {
    send = one;
  });

  const fails = (
    code: ProviderErrorCode,
    phase: SendPhase = 'envelope',
    retryAfterSeconds?: number,
  ) =>
    new ProviderError(code, `${code}!`, {
      phase,
      ...(retryAfterSeconds ? { retryAfterSeconds } : {}),
    });
  const times = (count: number, error: ProviderError) => Array.from({ length: count }, () => error);

  describe('the mailing service', () => {
    beforeEach(() => {
      send.relay.exists = true;
    });

    it('sends the message at once when the account has reached its daily limit', async () => {
      send.server.answers = [fails('quota-exhausted')];
      const id = await send.accept();
      expect(await send.toTheEnd(id)).toEqual([0, 0]);
      expect(send.relay.server.taken).toEqual([['bo@example.test']]);
      expect(await send.job(id)).toMatchObject({
        status: 'successful',
        route: 'relay',
        attempts: [
          {
            route: 'account',
            outcome: 'not-sent',
            code: 'quota-exhausted',
            rule: 'daily-limit-to-relay',
          },
          { route: 'relay', outcome: 'sent' },
        ],
      });
    });

    it('sends the message after five failed attempts for any other temporary reason', async () => {
      send.server.answers = times(99, fails('temporary'));
      const id = await send.accept();
      expect(await send.toTheEnd(id)).toHaveLength(6);
      const { attempts } = await send.job(id);
      expect(attempts.map(({ route, rule }: Record<string, string>) => [route, rule])).toEqual([
        ['account', 'backoff'],
        ['account', 'backoff'],
        ['account', 'backoff'],
        ['account', 'backoff'],
        ['account', 'five-attempts-to-relay'],
        ['relay', null],
      ]);
    });

    it('starts the retry schedule again, up to the same deadline', async () => {
      send.server.answers = [fails('quota-exhausted')];
      send.relay.server.answers = times(99, fails('quota-exhausted'));
      const id = await send.accept();
      const [first, second, third, ...others] = await send.toTheEnd(id);
      expect([first, second]).toEqual([0, 0]);
      expect(third).toBeGreaterThanOrEqual(27);
      expect(third).toBeLessThanOrEqual(33);
      expect(Math.round(others.at(-1) ?? 0)).toBeLessThanOrEqual(DAY + 5);
      expect(await send.job(id)).toMatchObject({
        status: 'failed',
        route: null,
        reason: 'retry limit datetime reached; last error: quota-exhausted!',
      });
    });

    it.each(['auth-invalid', 'rejected'] as const)(
      'sends no message that ends permanently: %s',
      async (code) => {
        send.server.answers = [fails(code)];
        const id = await send.accept();
        await send.toTheEnd(id);
        expect(await send.job(id)).toMatchObject({ status: 'failed' });
        expect(send.relay.server.taken).toEqual([]);
      },
    );

    it.each(['quota-exhausted', 'temporary'] as const)(
      'sends only messages whose sender is the account itself: %s',
      async (code) => {
        send.server.answers = times(5, fails(code));
        const own = await send.accept({ from: [{ email: send.account.email.toUpperCase() }] });
        await send.toTheEnd(own);
        expect(await send.job(own)).toMatchObject({ status: 'successful', route: 'relay' });
        const asked = send.relay.asked;
        send.server.answers = times(99, fails(code));
        const id = await send.accept({ from: [{ email: 'boss@example.test' }] });
        await send.toTheEnd(id);
        expect(await send.job(id)).toMatchObject({ status: 'failed', route: null });
        expect([send.relay.server.taken.length, send.relay.asked]).toEqual([1, asked]);
      },
    );

    it('is not asked before it is needed', async () => {
      send.server.answers = times(4, fails('temporary'));
      await send.toTheEnd(await send.accept());
      expect(send.relay.asked).toBe(0);
    });

    it('does not send a message whose outcome is unknown, until a look-up settles it', async () => {
      send.server.answers = [
        ...times(4, fails('temporary')),
        fails('outcome-unknown', 'confirmation'),
      ];
      send.server.lookUp = new ProviderError('temporary', '421 later');
      const id = await send.accept();
      for (let made = 0; made < 6; made += 1) await send.steps.attempt(id);
      expect(send.relay.server.taken).toEqual([]);
      send.server.lookUp = { found: false, conclusive: true };
      await send.steps.attempt(id);
      expect(send.relay.server.taken).toEqual([['bo@example.test']]);
      expect(await send.job(id)).toMatchObject({ status: 'successful', route: 'relay' });
    });

    it('never sends a message whose outcome stays unknown, which is sent again on its first route', async () => {
      send.server.answers = [
        ...times(4, fails('temporary')),
        fails('outcome-unknown', 'confirmation'),
      ];
      send.server.lookUp = { found: false, conclusive: false };
      const id = await send.accept();
      await send.toTheEnd(id);
      expect(send.relay.server.taken).toEqual([]);
      expect(await send.job(id)).toMatchObject({ status: 'successful', route: 'account' });
    });

    it('is asked for the messages that it was given', async () => {
      send.server.answers = [fails('quota-exhausted')];
      send.relay.server.answers = [fails('outcome-unknown', 'confirmation')];
      send.relay.server.lookUp = { found: true, conclusive: true };
      const id = await send.accept();
      await send.toTheEnd(id);
      expect([send.server.lookUps, send.relay.server.lookUps]).toEqual([0, 1]);
      expect(await send.job(id)).toMatchObject({ status: 'successful', route: 'relay' });
    });

    it('leaves messages to their account when it was removed, with the failures so far', async () => {
      send.server.answers = [fails('quota-exhausted'), fails('temporary')];
      send.relay.server.answers = times(3, fails('temporary'));
      const id = await send.accept();
      for (let made = 0; made < 4; made += 1) await send.steps.attempt(id);
      send.relay.exists = false;
      const { next } = outcomeOf(await send.steps.attempt(id));
      const waits = next.kind === 'again' && next.at.getTime() - send.clock.now().getTime();
      expect(waits).toBeGreaterThanOrEqual(240_000 * 0.9);
      await send.steps.attempt(id);
      expect(await send.job(id)).toMatchObject({ status: 'successful', route: 'account' });
    });

    it('keeps a message while its route cannot be determined', async () => {
      send.server.answers = [fails('quota-exhausted')];
      const id = await send.accept();
      await send.steps.attempt(id);
      send.relay.error = new ProviderError('temporary', '503 down');
      expect(outcomeOf(await send.steps.attempt(id)).next).toMatchObject({
        kind: 'again',
        ambiguous: false,
      });
      send.relay.error = null;
      await send.steps.attempt(id);
      expect(await send.job(id)).toMatchObject({
        status: 'successful',
        attempts: [{}, { route: null, detail: '503 down', rule: 'backoff' }, { route: 'relay' }],
      });
    });

    it('takes over no message if it cannot be asked', async () => {
      send.relay.error = new ProviderError('temporary', '503 down');
      send.server.answers = [fails('quota-exhausted')];
      const id = await send.accept();
      await send.toTheEnd(id);
      expect(await send.job(id)).toMatchObject({ status: 'successful', route: 'account' });
    });

    it('does not make the user authenticate when its own credentials are refused', async () => {
      send.server.answers = [fails('quota-exhausted')];
      send.relay.server.answers = [fails('auth-invalid', 'login')];
      const id = await send.accept();
      await send.toTheEnd(id);
      expect(await send.job(id)).toMatchObject({ status: 'successful', route: 'relay' });
      const [grant] = await send.database.query<{ status: string }>(
        'select status from "grant" where id = $1',
        [send.account.id],
      );
      expect(grant?.status).toBe('valid');
    });

    it('makes no second attempt for a message that allows only one', async () => {
      send.server.answers = [fails('quota-exhausted')];
      const id = await send.accept({ retry_limit_datetime: 0 });
      expect(await send.toTheEnd(id)).toHaveLength(1);
      expect(await send.job(id)).toMatchObject({ status: 'failed' });
    });
  });

  describe('without a mailing service', () => {
    it('keeps the schedule on a daily limit', async () => {
      send.server.answers = times(99, fails('quota-exhausted'));
      const id = await send.accept();
      // 31 attempts without jitter.
      expect([30, 31, 32]).toContain((await send.toTheEnd(id)).length);
      expect(await send.job(id)).toMatchObject({ status: 'failed', route: null });
    });
  });

  describe('the signal to the rate gate', () => {
    const signal = async (error: ProviderError | null, gateFailures = 0) => {
      send.server.answers = error ? [error] : [];
      return outcomeOf(await send.steps.attempt(await send.accept(), { gateFailures })).gate;
    };

    it("closes it for an hour when the account's daily limit is reached, or for as long as the provider asks", async () => {
      expect(await signal(fails('quota-exhausted'))).toEqual({
        kind: 'stop',
        seconds: 3_600,
        reason: "the account's daily limit is reached: quota-exhausted!",
      });
      expect(await signal(fails('quota-exhausted', 'envelope', 120))).toMatchObject({
        seconds: 120,
      });
    });

    it("is a failure when the account's server cannot be reached", async () => {
      expect(await signal(fails('temporary', 'connect'))).toMatchObject({ kind: 'trouble' });
      expect(await signal(fails('temporary', 'login'))).toMatchObject({ kind: 'trouble' });
    });

    it('is absent when the message is the cause', async () => {
      for (const code of ['temporary', 'rejected', 'outcome-unknown'] as const)
        expect(await signal(fails(code))).toBeUndefined();
      expect(await signal(null)).toBeUndefined();
    });

    it('is a recovery when the server responds after failures, whatever it responds', async () => {
      expect(await signal(null, 5)).toEqual({ kind: 'well' });
      expect(await signal(fails('temporary', 'envelope'), 5)).toEqual({ kind: 'well' });
      expect(await signal(fails('outcome-unknown', 'confirmation'), 5)).toBeUndefined();
    });

    it('is absent when the message has another route', async () => {
      send.relay.exists = true;
      expect(await signal(fails('temporary', 'connect'))).toBeUndefined();
      expect(await signal(fails('quota-exhausted'))).toBeUndefined();
      send.relay.server.answers = [fails('temporary', 'connect')];
      const id = await send.accept();
      send.server.answers = [fails('quota-exhausted')];
      await send.steps.attempt(id);
      expect(outcomeOf(await send.steps.attempt(id)).gate).toBeUndefined();
    });

    it('is a recovery when messages have another route, because none needs to wait', async () => {
      send.relay.exists = true;
      expect(await signal(fails('temporary', 'connect'), 5)).toEqual({ kind: 'well' });
      expect(await signal(fails('quota-exhausted'), 1)).toEqual({ kind: 'well' });
      const id = await send.accept();
      send.server.answers = [fails('quota-exhausted')];
      await send.steps.attempt(id);
      expect(outcomeOf(await send.steps.attempt(id, { gateFailures: 5 })).gate).toEqual({
        kind: 'well',
      });
    });

    it('is absent when the error is ours', async () => {
      send.server.answers = [new TypeError('a bug')];
      expect(
        outcomeOf(await send.steps.attempt(await send.accept(), { gateFailures: 5 })).gate,
      ).toBeUndefined();
    });
  });

  describe('messages that wait for their account', () => {
    const inHours = (hours: number) => Math.floor(Date.now() / 1000) + hours * 3600;
    const edit = async (id: string, body: object) =>
      (
        await request(send.app.url)
          .patch(`/v2/outbox/${id}`)
          .set(send.account.bearer)
          .send(body)
          .expect(200)
      ).body;
    const late = (...ids: string[]) =>
      send.database.transaction((sql) =>
        send.dispatcher().recordLate(
          sql,
          ids.map((id) => ({ id, reason: 'the server is away' })),
        ),
      );

    const parked = async () => {
      const id = await send.accept();
      await send.database.query(
        `update send_job set run_at = due_at + interval '1 h' where id = $1`,
        [id],
      );
      return id;
    };

    it('are delayed, with the reason', async () => {
      const [waiting, other] = [await parked(), await parked()];
      await late(waiting);
      expect(await send.job(waiting)).toMatchObject({
        status: 'delayed',
        reason: 'could not be sent yet: the server is away',
        attempts: [],
      });
      expect(await send.job(other)).toMatchObject({ status: 'pending' });
    });

    it('keep their status once they are claimed, attempted or deleted', async () => {
      send.server.answers = [fails('temporary')];
      const [claimed, attempted, gone] = [await parked(), await parked(), await parked()];
      await send.steps.attempt(attempted);
      await send.steps.claim(claimed);
      await send.database.query('delete from send_job where id = $1', [gone]);
      await late(claimed, attempted, gone);
      expect(await send.job(claimed)).toMatchObject({ status: 'pending' });
      expect(await send.job(gone)).toMatchObject({ status: 'pending' });
      expect((await send.job(attempted)).reason).toBe('could not be sent yet: temporary!');
    });

    it('are not late when they have got a new send time meanwhile', async () => {
      const id = await parked();
      await edit(id, { send_at: inHours(2) });
      await late(id);
      expect(await send.job(id)).toMatchObject({ status: 'pending' });
    });

    it('are pending again with a new send time, and delayed again when that time passes too', async () => {
      await createWebhook(send.app.app, send.application, 'https://example.test/hook', {
        triggers: ['job.delayed'],
      });
      const id = await parked();
      await late(id);
      const edited = await edit(id, { send_at: inHours(2) });
      expect(edited).toMatchObject({ status: 'pending', version: 2 });
      expect(edited).not.toHaveProperty('reason');
      expect(await send.job(id)).toMatchObject({ status: 'pending' });
      await send.database.query(
        `update send_job set run_at = due_at + interval '1 h' where id = $1`,
        [id],
      );
      await late(id);
      expect(await send.job(id)).toMatchObject({ status: 'delayed' });
      const events = await send.database.query(
        `select 1 from webhook_event where application_id = $1`,
        [send.application.id],
      );
      expect(events).toHaveLength(2);
    });

    it('remain delayed when an edit does not change the send time', async () => {
      const id = await parked();
      await late(id);
      expect(await edit(id, { subject: 'Two' })).toMatchObject({
        status: 'delayed',
        reason: 'could not be sent yet: the server is away',
      });
    });

    it('do not wait beyond a deadline that was set meanwhile', async () => {
      const id = await parked();
      await edit(id, { retry_limit_datetime: Math.floor(Date.now() / 1000) + 600 });
      const [row] = await send.database.query<{ kept: boolean }>(
        'select run_at = retry_limit_at as kept from send_job where id = $1',
        [id],
      );
      expect(row?.kept).toBe(true);
    });
  });
});
