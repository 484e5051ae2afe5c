import request from 'supertest';
import { APP_CONFIG, type AppConfig } from '../../src/platform/config/app-config.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { GrantConnectionsService } from '../../src/accounts/grants/moves/grant-connections.service.ts';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import type { SendJobRow, SendResult } from '../../src/mail/outbox/send/send-attempt.ts';
import { SendDispatcher } from '../../src/mail/outbox/send/send-dispatcher.ts';
import { UnknownOutcomes } from '../../src/mail/outbox/send/unknown-outcomes.ts';
import { SendRoutes } from '../../src/mail/outbox/send/send-routes.ts';
import { SentMirror } from '../../src/mail/outbox/record/sent-mirror.ts';
import { MessageSender } from '../../src/mail/outbox/send/send-message.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector, MailPort } from '../../src/providers/port/connector.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import type { Lease, Outcome } from '../../src/platform/work/queue/dispatcher.ts';
import { RelayRoutes } from '../../src/mail/relay/relay-routes.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { EngineSteps } from '../support/engine-steps.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { TestClock } from '../support/test-clock.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

describe('SendDispatcher', () => {
  let server: TestApp;
  let database: Database;
  let ada: TestAccount;
  let applicationId: string;
  let clock: TestClock;
  /** Message-IDs that were handed over to the provider. */
  let sent: string[];
  let mail: Pick<MailPort, 'send' | 'findSent'>;
  let steps: EngineSteps<SendJobRow, SendResult>;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    database = server.app.get(Database);
    steps = new EngineSteps(database, dispatcher);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    const application = await createApplication(server.app);
    applicationId = application.id;
    ada = await createAccount(server.app, application);
    clock = new TestClock();
    sent = [];
    mail = {
      async send(_account, message, { onPhase }) {
        onPhase('envelope');
        onPhase('content');
        sent.push(message.messageIdHeader);
        onPhase('confirmation');
        return {
          accepted: message.envelope.recipients,
          refused: [],
          deferred: [],
          response: '250 ok',
        };
      },
      findSent: () => Promise.resolve({ found: false, conclusive: true }),
    };
  });

  const dispatcher = () => {
    const config = server.app.get<AppConfig>(APP_CONFIG);
    const accounts = server.app.get(ProviderAccounts, { strict: false });
    const connectors = new ConnectorRegistry([{ name: 'sandbox', mail } as unknown as Connector]);
    const routes = new SendRoutes(
      connectors,
      server.app.get(RelayRoutes, { strict: false }),
      database,
      config,
    );
    const unknown = new UnknownOutcomes(config, routes, accounts, clock);
    const sender = new MessageSender(config, database, accounts, routes, unknown, clock);
    const mirror = server.app.get(SentMirror, { strict: false });
    return new SendDispatcher(config, accounts, sender, mirror, clock);
  };
  const accept = async (body: object = {}) => {
    const message = { to: [{ email: 'bo@example.test' }], ...body };
    const { body: item } = await request(server.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .send(message)
      .expect(202);
    return item.job_status_id as string;
  };
  const claimed = (id: string, changes: Partial<SendJobRow> = {}) => steps.claim(id, changes);
  const run = (job: SendJobRow, lease: Partial<Lease> = {}) => steps.run(job, lease);
  const reasonOf = ({ result }: Outcome<SendResult>) => result.move?.reason;
  const fails = (error: Error) => () => Promise.reject(error);

  it('keeps an outcome unknown when the look-up fails', async () => {
    mail.findSent = fails(new ProviderError('temporary', '421 try later'));
    const outcome = outcomeOf(
      await run(await claimed(await accept(), { ambiguous: true, attempt: 2 })),
    );
    expect(outcome.next).toMatchObject({ kind: 'again', ambiguous: true });
    expect(reasonOf(outcome)).toBe(
      'the outcome is unknown and being looked up: it could not be looked up: 421 try later',
    );
    expect(sent).toEqual([]);
  });

  it('keeps an outcome unknown after an internal error', async () => {
    const job = await claimed(await accept(), { ambiguous: true, attempt: 2 });
    expect(dispatcher().onError(job, new Error('a bug')).next).toMatchObject({
      kind: 'again',
      ambiguous: true,
    });
    expect(
      dispatcher().onError({ ...job, ambiguous: false }, new Error('a bug')).next,
    ).toMatchObject({
      kind: 'again',
      ambiguous: false,
    });
  });

  it('ends a message a day after the deadline if look-ups keep failing, with a reason that says what is unknown', async () => {
    mail.findSent = fails(new ProviderError('temporary', '421 try later'));
    const job = await claimed(await accept({ retry_limit_datetime: 0 }), {
      ambiguous: true,
      attempt: 40,
    });
    clock.advance(DAY - MINUTE);
    expect(outcomeOf(await run(job)).next.kind).toBe('again');
    clock.advance(2 * MINUTE);
    const outcome = outcomeOf(await run(job));
    expect(outcome.next.kind).toBe('done');
    expect(reasonOf(outcome)).toMatch(/^the outcome is unknown: /);
    expect(sent).toEqual([]);
  });

  it('sends a message again that was not found before the deadline, with the same Message-ID', async () => {
    const job = await claimed(await accept(), { ambiguous: true, attempt: 2 });
    expect(outcomeOf(await run(job)).result.move?.to).toBe('successful');
    expect(sent).toHaveLength(1);
    expect(sent[0]).toContain(job.id);
  });

  it('does not send a message after the deadline that was not found', async () => {
    const job = await claimed(await accept({ retry_limit_datetime: 0 }), {
      ambiguous: true,
      attempt: 2,
    });
    clock.advance(15_000);
    const outcome = outcomeOf(await run(job));
    expect(outcome.next.kind).toBe('done');
    expect(reasonOf(outcome)).toBe(
      'retry limit datetime reached; last error: the outcome is unknown, and it was not found among the sent messages',
    );
    expect(sent).toEqual([]);
  });

  it('makes a single attempt up to an hour late, and not later', async () => {
    const [late, tooLate] = [
      await claimed(await accept({ retry_limit_datetime: 0 })),
      await claimed(await accept({ retry_limit_datetime: 0 })),
    ];
    clock.advance(59 * MINUTE);
    expect(outcomeOf(await run(late)).result.move?.to).toBe('successful');
    clock.advance(3 * MINUTE);
    const outcome = outcomeOf(await run(tooLate));
    expect(outcome.next.kind).toBe('done');
    expect(reasonOf(outcome)).toBe(
      'retry limit datetime reached; last error: no attempt was possible in time',
    );
    expect(sent).toHaveLength(1);
  });

  it('treats a found message as sent, even after the deadline', async () => {
    mail.findSent = () => Promise.resolve({ found: true, conclusive: true });
    const job = await claimed(await accept({ retry_limit_datetime: 0 }), {
      ambiguous: true,
      attempt: 2,
    });
    clock.advance(DAY);
    expect(outcomeOf(await run(job)).result.move?.to).toBe('successful');
    expect(sent).toEqual([]);
  });

  it('sends no content once the claim may be lost, and counts no attempt', async () => {
    let trusted = true;
    const lease = {
      handOff: () => {
        trusted = false; // as if the process were paused right afterwards
        return Promise.resolve(true);
      },
      trusted: () => trusted,
    };
    expect(await run(await claimed(await accept()), lease)).toBeNull();
    expect(sent).toEqual([]);
  });

  it('does not finish sending content once the claim may be lost, because another worker may have looked it up by then', async () => {
    let trusted = true;
    mail.send = async (_account, { messageIdHeader }, { onPhase }) => {
      onPhase('content');
      trusted = false; // as if the database were unreachable during a long upload
      onPhase('confirmation');
      sent.push(messageIdHeader);
      throw new ProviderError('outcome-unknown', 'lost', { phase: 'confirmation' });
    };
    expect(await run(await claimed(await accept()), { trusted: () => trusted })).toBeNull();
    expect(sent).toEqual([]);
  });

  it('does nothing when the hand-off is refused', async () => {
    const lease = { handOff: () => Promise.resolve(false) };
    expect(await run(await claimed(await accept()), lease)).toBeNull();
    expect(sent).toEqual([]);
  });

  describe('refused credentials', () => {
    const REFUSED = new ProviderError('auth-invalid', '535 no', { phase: 'login' });
    const authenticate = () =>
      server.app.get(GrantConnectionsService, { strict: false }).connect(
        applicationId,
        {
          provider: 'sandbox',
          email: ada.email,
          name: 'Ada',
          organizationUnit: 'folder',
          settings: {},
        },
        { integrationRequired: false },
      );
    const grantStatus = async () =>
      (
        await database.query<{ status: string }>('select status from "grant" where id = $1', [
          ada.id,
        ])
      )[0]?.status;
    const settle = (job: SendJobRow, outcome: Outcome<SendResult>) =>
      database.transaction((sql) => dispatcher().record(sql, [{ row: job, ...outcome }]));

    it('end the message and make the grant invalid', async () => {
      mail.send = fails(REFUSED);
      const job = await claimed(await accept());
      const outcome = outcomeOf(await run(job));
      expect(outcome.next.kind).toBe('done');
      await settle(job, outcome);
      expect(await grantStatus()).toBe('invalid');
    });

    it('have no effect when the user has authenticated again meanwhile', async () => {
      mail.send = async () => {
        await authenticate();
        throw REFUSED;
      };
      expect(await run(await claimed(await accept()))).toBeNull();
      expect(await grantStatus()).toBe('valid');
    });

    it('do not make a grant invalid that was renewed before the result was stored', async () => {
      mail.send = fails(REFUSED);
      const job = await claimed(await accept());
      const outcome = outcomeOf(await run(job));
      await authenticate();
      await settle(job, outcome);
      expect(await grantStatus()).toBe('valid');
    });
  });

  it("stores a server's reason without the bytes that cannot be stored", async () => {
    mail.send = fails(new ProviderError('rejected', '550 no\0pe'));
    const id = await accept();
    const job = await claimed(id);
    const outcome = outcomeOf(await run(job));
    await database.transaction((sql) => dispatcher().record(sql, [{ row: job, ...outcome }]));
    const { body } = await request(server.url)
      .get(`/job-statuses/${id}?view=expanded`)
      .set(ada.bearer);
    expect(body).toMatchObject({
      status: 'failed',
      reason: 'rejected by the provider: 550 nope',
      attempts: [{ detail: '550 nope' }],
    });
  });
});
