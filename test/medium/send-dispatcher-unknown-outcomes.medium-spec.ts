import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import request from 'supertest';
import { GrantConnectionsService } from '../../src/accounts/grants/moves/grant-connections.service.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { releaseSends } from '../../src/mail/outbox/steer/steered-sends.ts';
import { outgoing, sendControl } from '../support/contract-tools.ts';
import { createAccount, type TestAccount } from '../support/factories.ts';
import { GoogleFixture } from '../support/google-account.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { beforeEachSend, type SendFixture } from '../support/send-fixture.ts';

describe('SendDispatcher: unknown outcomes', () => {
  let send: SendFixture;
  const lost = new ProviderError('outcome-unknown', 'connection lost', { phase: 'confirmation' });
  beforeEachSend((one) => {
    send = one;
  });

  const rules = async (id: string) =>
    (await send.job(id)).attempts.map(({ outcome, rule }: Record<string, string>) => [
      outcome,
      rule,
    ]);

  describe('when a look-up without a match proves nothing', () => {
    beforeEach(() => {
      send.server.answers = [lost];
      send.server.lookUp = { found: false, conclusive: false };
    });

    it('looks up three times, 15, 60 and 180 s after the unknown outcome, then sends again and reports that', async () => {
      const id = await send.accept();
      expect(await send.toTheEnd(id)).toEqual([0, 15, 60, 180, 180]);
      expect(await rules(id)).toEqual([
        ['unknown', 'look-up'],
        ['unknown', 'look-up'],
        ['unknown', 'look-up'],
        ['unknown', 'resend'],
        ['sent', null],
      ]);
      expect(send.server.messageIds).toHaveLength(2);
      expect(new Set(send.server.messageIds).size).toBe(1);
      expect(await send.job(id)).toMatchObject({ status: 'successful', route: 'account' });
    });

    it('fails the message instead if the server is configured so', async () => {
      send.onUnknown = 'fail';
      const id = await send.accept();
      expect(await send.toTheEnd(id)).toEqual([0, 15, 60, 180]);
      expect(send.server.taken).toHaveLength(1);
      expect(await send.job(id)).toMatchObject({
        status: 'failed',
        reason:
          'the outcome is unknown: it was not found among the sent messages, which proves nothing',
      });
    });

    it('never sends again if a message like it was sent, whatever the settings say', async () => {
      send.onUnknown = 'resend';
      send.server.lookUp = { found: false, conclusive: false, similar: true };
      const id = await send.accept({}, { on_unknown: 'resend' });
      expect(await send.toTheEnd(id)).toEqual([0, 15, 60, 180]);
      expect(send.server.taken).toHaveLength(1);
      expect(await send.job(id)).toMatchObject({
        status: 'failed',
        reason:
          'the outcome is unknown: a message with the same recipients and subject was found among the sent messages, which may be this one',
      });
    });

    it.each([
      ['resend', 'fail', 'successful'],
      ['fail', 'resend', 'failed'],
    ])(
      "follows the message's setting (%s) rather than the server's (%s)",
      async (message, server, status) => {
        send.onUnknown = server as 'fail';
        const id = await send.accept({}, { on_unknown: message });
        await send.toTheEnd(id);
        expect(await send.job(id)).toMatchObject({ status });
      },
    );

    it('sends nothing after the deadline, but looks up until then', async () => {
      const id = await send.accept({ retry_limit_datetime: 0 });
      expect(await send.toTheEnd(id)).toEqual([0, 15, 60, 180]);
      expect(send.server.taken).toHaveLength(1);
      expect(await send.job(id)).toMatchObject({ status: 'failed' });
    });

    it('sends nothing if the deadline comes between the decision and the send', async () => {
      const id = await send.accept();
      for (let made = 0; made < 4; made += 1) await send.steps.attempt(id);
      send.clock.advance(86_400_000 + 61_000);
      expect(outcomeOf(await send.steps.attempt(id)).next.kind).toBe('done');
      expect(send.server.taken).toHaveLength(1);
      expect((await send.job(id)).reason).toMatch(
        /^the outcome is unknown: the retry limit passed/,
      );
    });

    it('believes a later look-up that finds the message', async () => {
      const id = await send.accept();
      await send.steps.attempt(id);
      await send.steps.attempt(id);
      send.server.lookUp = { found: true, conclusive: true };
      await send.steps.attempt(id);
      expect(await send.job(id)).toMatchObject({ status: 'successful', route: 'account' });
      expect(send.server.taken).toHaveLength(1);
    });

    it('refuses to cancel or edit the message, even while it waits to be sent again', async () => {
      const id = await send.accept();
      for (let made = 0; made < 4; made += 1) {
        await send.steps.attempt(id);
        const item = request(send.app.url).delete(`/v2/outbox/${id}`).set(send.account.bearer);
        await item.expect(409);
      }
    });

    it('keeps the outcome unknown when the repeated send fails: no cancellation, and the final reason says what is unknown', async () => {
      const refusals = Array.from(
        { length: 99 },
        () => new ProviderError('temporary', '450', { phase: 'envelope' }),
      );
      send.server.answers = [lost, ...refusals];
      const id = await send.accept();
      for (let made = 0; made < 5; made += 1) await send.steps.attempt(id);
      const refused = await request(send.app.url)
        .delete(`/v2/outbox/${id}`)
        .set(send.account.bearer);
      expect(refused.status).toBe(409);
      await send.toTheEnd(id);
      expect(send.server.lookUps).toBe(3);
      const { status, reason, attempts } = await send.job(id);
      expect([status, reason]).toEqual([
        'failed',
        'retry limit datetime reached; last error: 450; whether an earlier attempt succeeded is unknown',
      ]);
      expect(attempts.at(-2).rule).toBe('last-attempt');
      expect(attempts.filter(({ rule }: { rule: string }) => rule === 'resend')).toHaveLength(1);
    });

    it('looks up again when a worker dies while the repeated send is retried', async () => {
      send.server.answers = [lost, new ProviderError('temporary', '450', { phase: 'envelope' })];
      const id = await send.accept();
      for (let made = 0; made < 5; made += 1) await send.steps.attempt(id);
      await send.steps.crash(id);
      await send.toTheEnd(id);
      expect(send.server.lookUps).toBe(6);
    });

    it('looks up again, at later times, when the repeated send has an unknown outcome too', async () => {
      send.server.answers = [lost, lost];
      const id = await send.accept();
      expect(await send.toTheEnd(id)).toEqual([0, 15, 60, 180, 180, 210, 255, 375, 375]);
      expect((await rules(id)).filter(([, rule]: string[]) => rule === 'resend')).toHaveLength(2);
    });

    it('looks up again when a worker dies in the repeated send, so that every copy is counted', async () => {
      const id = await send.accept();
      for (let made = 0; made < 4; made += 1) await send.steps.attempt(id);
      await send.steps.crash(id);
      await send.toTheEnd(id);
      expect(send.server.lookUps).toBe(6);
      expect((await rules(id)).filter(([, rule]: string[]) => rule === 'resend')).toHaveLength(2);
    });

    it('keeps its decision when the repeated send is released before it began', async () => {
      const id = await send.accept();
      for (let made = 0; made < 4; made += 1) await send.steps.attempt(id);
      const refusing = { handOff: () => Promise.resolve(false) };
      expect(await send.steps.attempt(id, {}, refusing)).toBeNull();
      await send.steps.attempt(id);
      expect(send.server.lookUps).toBe(3);
      expect(await send.job(id)).toMatchObject({ status: 'successful' });
    });
  });

  it('looks up the message of a dead worker like any other', async () => {
    const id = await send.accept();
    await send.steps.crash(id);
    send.server.lookUp = { found: true, conclusive: true };
    await send.steps.attempt(id);
    expect(send.server.taken).toEqual([]);
    expect(await send.job(id)).toMatchObject({
      status: 'successful',
      attempts: [
        { attempt: 1, outcome: 'unknown', detail: expect.stringContaining('was lost') },
        { attempt: 2, outcome: 'sent', detail: 'found among the sent messages' },
      ],
    });
  });

  it('sends again at once whenever a look-up proves that the message was not sent', async () => {
    send.server.answers = [lost, lost];
    const id = await send.accept();
    await send.toTheEnd(id);
    expect(send.server.taken).toHaveLength(3);
    expect(await rules(id)).toEqual([
      ['unknown', 'look-up'],
      ['unknown', 'look-up'],
      ['sent', null],
    ]);
  });

  it('sends again through the account when the mailing service of the unknown outcome was removed', async () => {
    send.relay.exists = true;
    send.server.answers = [
      new ProviderError('quota-exhausted', '550 5.4.5', { phase: 'envelope' }),
    ];
    send.relay.server.answers = [lost];
    const id = await send.accept();
    await send.steps.attempt(id);
    await send.steps.attempt(id);
    send.relay.exists = false;
    expect(await send.toTheEnd(id)).toEqual([0, 45, 165, 165]);
    expect(await send.job(id)).toMatchObject({ status: 'successful', route: 'account' });
  });

  it('ends the message of an account with refused credentials, with a reason that says what is unknown', async () => {
    send.server.answers = [lost];
    const id = await send.accept();
    await send.steps.attempt(id);
    await send.database.query(`update "grant" set status = 'invalid' where id = $1`, [
      send.account.id,
    ]);
    await send.steps.attempt(id);
    expect((await send.job(id)).reason).toBe(
      "invalid authentication: the account's credentials are out of date; whether an earlier attempt succeeded is unknown",
    );
  });

  it('looks up again if the user authenticated again while the provider refused the old credentials', async () => {
    send.server.answers = [lost];
    const id = await send.accept();
    await send.steps.attempt(id);
    const { email } = send.account;
    jest.spyOn(send.server, 'findSent').mockImplementationOnce(async () => {
      const credentials = { provider: 'sandbox', email, name: 'Ada', settings: {} } as const;
      await send.app.app
        .get(GrantConnectionsService, { strict: false })
        .connect(
          send.application.id,
          { ...credentials, organizationUnit: 'folder' },
          { integrationRequired: false },
        );
      throw new ProviderError('auth-invalid', '535 no', { phase: 'login' });
    });
    expect(outcomeOf(await send.steps.attempt(id)).next).toMatchObject({
      kind: 'again',
      ambiguous: true,
    });
    send.server.lookUp = { found: true, conclusive: true };
    await send.toTheEnd(id);
    expect(await send.job(id)).toMatchObject({ status: 'successful' });
    expect(send.server.taken).toHaveLength(1);
  });

  it('looks up at the mailing service that was given the message, whatever the status of the account', async () => {
    send.relay.exists = true;
    send.server.answers = [
      new ProviderError('quota-exhausted', '550 5.4.5', { phase: 'envelope' }),
    ];
    send.relay.server.answers = [lost];
    send.relay.server.lookUp = { found: true, conclusive: true };
    const id = await send.accept();
    await send.steps.attempt(id);
    await send.steps.attempt(id);
    await send.database.query(`update "grant" set status = 'invalid' where id = $1`, [
      send.account.id,
    ]);
    await send.steps.attempt(id);
    expect(await send.job(id)).toMatchObject({ status: 'successful', route: 'relay' });
  });

  describe('when a message is released from quarantine an hour after its attempts', () => {
    const HOUR_MS = 3_600_000;
    let gmail: GoogleFixture;
    beforeAll(async () => {
      gmail = await GoogleFixture.start();
    });
    afterAll(() => gmail.stop());

    /** A message that was due an hour ago, and was quarantined then. */
    async function released(columns: Record<string, unknown> = {}): Promise<string> {
      const id = await send.accept({ subject: 'Released' }, columns);
      const times = { job_status: 'send_at', send_job: 'due_at' };
      for (const [table, column] of Object.entries(times))
        await send.database.query(
          `update ${table} set ${column} = ${column} - interval '1 hour' where id = $1`,
          [id],
        );
      const job = await send.steps.claim(id);
      await send.steps.settle(job, send.dispatcher().onPoison(job));
      const release = { at: send.clock.now(), dryRun: false };
      const steered = await send.database.transaction((sql) => releaseSends(sql, [id], release));
      expect(steered).toEqual({ changed: [id], skipped: [] });
      return id;
    }

    it('looks for copies of all attempts, beginning at the send time', async () => {
      const begun = send.clock.now().getTime();
      const id = await released();
      await send.steps.attempt(id);
      const [traces] = send.server.traces;
      expect(traces?.since.getTime()).toBeLessThan(begun - HOUR_MS + 60_000);
    });

    it('waits for hours while sending is paused, also if its sender wants no late message', async () => {
      const id = await released({ on_missed: 'skip' });
      await send.database.query(`update "grant" set sending_paused_at = now() where id = $1`, [
        send.account.id,
      ]);
      const { next } = outcomeOf(await send.steps.attempt(id));
      const waits = next.kind === 'again' ? next.at.getTime() - send.clock.now().getTime() : 0;
      expect(waits).toBeGreaterThan(HOUR_MS);
      expect(send.server.taken).toEqual([]);
    });

    it('does not send the message again if Gmail sent it then and kept neither its Message-ID nor its mark', async () => {
      const { mail, account, keeps } = gmail.forgetful();
      keeps('nothing');
      const sender = await account();
      const copy = outgoing(sender, ['bo@example.test'], { subject: 'Released' });
      await mail.send(sender, copy, sendControl());
      for (const sent of gmail.stub.world.users.get(sender.email)?.mailbox.messages() ?? [])
        sent.date -= HOUR_MS;
      send.server.findSent = (traces) => mail.findSent(sender, '<other@x.test>', traces);
      const id = await released();
      await send.toTheEnd(id);
      expect(send.server.taken).toEqual([]);
      expect((await send.job(id)).reason).toContain('which may be this one');
    });
  });

  it('knows which Message-IDs belong to messages of the account, even if their senders chose them', async () => {
    const chosen = `<chosen-${randomUUID()}@app.test>`;
    const mime = ['To: bo@example.test', `Message-ID: ${chosen}`, '', 'Hello'].join('\r\n');
    const { url } = send.app;
    const { account } = send;
    const stranger = await createAccount(send.app.app, send.application);
    const sendRaw = ({ email, bearer }: TestAccount, text: string) =>
      request(url)
        .post('/send')
        .set(bearer)
        .set('content-type', 'message/rfc822')
        .send(`From: ${email}\r\n${text}`)
        .expect(200);
    await sendRaw(account, mime);
    await sendRaw(stranger, mime.replace('<chosen', '<strange'));
    send.server.answers = [lost];
    const id = await send.accept();
    await send.toTheEnd(id);
    const [generated = ''] = send.server.messageIds;
    const ids = [generated, chosen, chosen.replace('<chosen', '<strange'), '<server\0@x.test>', ''];
    expect(await send.server.traces[0]?.ownIdsAmong?.(ids)).toEqual(new Set([generated, chosen]));
  });

  it('assumes an unknown outcome after an internal error if content may already have been sent', async () => {
    send.server.answers = [new TypeError('a bug')];
    const id = await send.accept();
    expect(outcomeOf(await send.steps.attempt(id)).next).toMatchObject({ ambiguous: true });
  });
});
