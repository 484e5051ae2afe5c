import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import request from 'supertest';
import { APP_CONFIG, type AppConfig } from '../../src/platform/config/app-config.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import type { SendJobRow, SendResult } from '../../src/mail/outbox/send/send-attempt.ts';
import { SendDispatcher } from '../../src/mail/outbox/send/send-dispatcher.ts';
import { UnknownOutcomes } from '../../src/mail/outbox/send/unknown-outcomes.ts';
import { SendRoutes } from '../../src/mail/outbox/send/send-routes.ts';
import { SentMirror } from '../../src/mail/outbox/record/sent-mirror.ts';
import { MessageSender } from '../../src/mail/outbox/send/send-message.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type {
  Connector,
  MailPort,
  OutgoingMessage,
  SendControl,
  SendReceipt,
  SentLookup,
  SentTraces,
} from '../../src/providers/port/connector.ts';
import { BudgetExhaustedError } from '../../src/platform/budgets/budget-exhausted-error.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { type RelayRoute, RelayRoutes } from '../../src/mail/relay/relay-routes.ts';
import { EngineSteps } from './engine-steps.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from './factories.ts';
import { startTestApp, type TestApp } from './test-app.ts';
import { TestClock } from './test-clock.ts';

/** The responses of a provider's server. Every request succeeds unless a test says otherwise. */
export class ScriptedServer {
  /** The recipients of each message whose content was sent to the server. */
  readonly taken: (readonly string[])[] = [];
  readonly messageIds: string[] = [];
  lookUps = 0;
  /** What was known of the message at each look-up over the account. */
  readonly traces: (SentTraces | undefined)[] = [];
  recipientsFrom: 'envelope' | 'headers' = 'envelope';
  readonly threadIds: (string | null | undefined)[] = [];
  /** Results of the next sends. An error is thrown in its own phase. */
  answers: (ProviderError | Error | Partial<SendReceipt>)[] = [];
  /** Result of every look-up. */
  lookUp: SentLookup | Error = { found: false, conclusive: true };

  async send(
    { envelope, messageIdHeader, threadId }: OutgoingMessage,
    { onPhase }: SendControl,
  ): Promise<SendReceipt> {
    const answer = this.answers.shift() ?? {};
    if (answer instanceof BudgetExhaustedError) throw answer;
    const last = answer instanceof ProviderError ? answer.phase : 'confirmation';
    for (const phase of ['connect', 'login', 'envelope', 'content', 'confirmation'] as const) {
      onPhase(phase);
      if (phase === 'content') {
        this.taken.push(envelope.recipients);
        this.messageIds.push(messageIdHeader);
        this.threadIds.push(threadId);
      }
      if (phase === last) break;
    }
    if (answer instanceof Error) throw answer;
    return {
      accepted: envelope.recipients,
      refused: [],
      deferred: [],
      response: '250 ok',
      ...answer,
    };
  }

  async findSent(traces?: SentTraces): Promise<SentLookup> {
    this.lookUps += 1;
    this.traces.push(traces);
    if (this.lookUp instanceof Error) throw this.lookUp;
    return this.lookUp;
  }
}

/** The route through a relay. A test decides whether the account has one. */
export class ScriptedRelay extends RelayRoutes {
  readonly server = new ScriptedServer();
  exists = false;
  /** Error that is thrown when the route is asked for. */
  error: Error | null = null;
  asked = 0;

  async find(): Promise<RelayRoute | null> {
    this.asked += 1;
    if (this.error) throw this.error;
    if (!this.exists) return null;
    return {
      kind: 'smtp',
      send: (message, control) => this.server.send(message, control),
      findSent: () => this.server.findSent(),
    };
  }

  async isOpen(): Promise<boolean> {
    return this.exists;
  }
}

/**
 * Messages, and a dispatcher that sends them when a test says so. The servers behind it are
 * scripted.
 */
export class SendFixture {
  readonly clock = new TestClock();
  readonly server = new ScriptedServer();
  readonly relay = new ScriptedRelay();
  onUnknown: AppConfig['outbox']['onUnknown'] = 'resend';

  readonly steps: EngineSteps<SendJobRow, SendResult>;

  constructor(
    readonly app: TestApp,
    readonly application: TestApplication,
    readonly account: TestAccount,
  ) {
    this.steps = new EngineSteps(this.database, () => this.dispatcher());
  }

  get database(): Database {
    return this.app.app.get(Database);
  }

  dispatcher(): SendDispatcher {
    const base = this.app.app.get<AppConfig>(APP_CONFIG);
    const config = { ...base, outbox: { ...base.outbox, onUnknown: this.onUnknown } };
    const accounts = this.app.app.get(ProviderAccounts, { strict: false });
    const mail: Pick<MailPort, 'send' | 'findSent' | 'recipientsFrom'> = {
      recipientsFrom: this.server.recipientsFrom,
      send: (_account, message, control) => this.server.send(message, control),
      findSent: (_account, _header, traces) => this.server.findSent(traces),
    };
    const connectors = new ConnectorRegistry([{ name: 'sandbox', mail } as unknown as Connector]);
    const routes = new SendRoutes(connectors, this.relay, this.database, config);
    const unknown = new UnknownOutcomes(config, routes, accounts, this.clock);
    const sender = new MessageSender(config, this.database, accounts, routes, unknown, this.clock);
    const mirror = this.app.app.get(SentMirror, { strict: false });
    return new SendDispatcher(config, accounts, sender, mirror, this.clock);
  }

  /**
   * Accepts a message, and moves the clock forward to its due time.
   * @returns the job_status_id
   */
  async accept(body: object = {}, columns: Record<string, unknown> = {}): Promise<string> {
    const { body: item } = await request(this.app.url)
      .post('/v2/outbox')
      .set(this.account.bearer)
      .send({ to: [{ email: 'bo@example.test' }], ...body })
      .expect(202);
    const id = item.job_status_id as string;
    for (const [column, value] of Object.entries(columns)) {
      await this.database.query(
        `update outbox_message set ${column} = $2 where id = $1`,
        [id, value],
        {
          prepared: false,
        },
      );
    }
    const [row] = await this.database.query<{ dueAt: Date }>(
      'select due_at as "dueAt" from send_job where id = $1',
      [id],
    );
    this.clock.advance(Math.max(0, (row?.dueAt.getTime() ?? 0) - this.clock.now().getTime()));
    return id;
  }

  /**
   * Attempts the message until its queue row is gone, moving the clock along.
   * @returns seconds of each attempt
   */
  async toTheEnd(id: string, most = 100): Promise<number[]> {
    const begun = this.clock.now().getTime();
    const times: number[] = [];
    for (let made = 0; made < most; made += 1) {
      times.push((this.clock.now().getTime() - begun) / 1000);
      const outcome = await this.steps.attempt(id);
      if (!outcome || outcome.next.kind === 'done') return times;
      this.clock.advance(Math.max(0, outcome.next.at.getTime() - this.clock.now().getTime()));
    }
    throw new Error(`not finished after ${most} attempts`);
  }

  /** The job as the API shows it, with its timeline. */
  async job(id: string) {
    const { body } = await request(this.app.url)
      .get(`/job-statuses/${id}?view=expanded`)
      .set(this.account.bearer)
      .expect(200);
    return body;
  }
}

/** One server for all tests of a suite, and a new account for each test. */
export async function startSendFixtures(): Promise<{
  next(): Promise<SendFixture>;
  close(): Promise<void>;
}> {
  const app = await startTestApp({ ROLES: 'api' });
  return {
    async next() {
      const application = await createApplication(app.app);
      return new SendFixture(app, application, await createAccount(app.app, application));
    },
    close: () => app.close(),
  };
}

/**
 * Sets up `startSendFixtures` for the calling suite.
 * @param take gets the new account before each test
 */
export function beforeEachSend(take: (send: SendFixture) => void): void {
  let fixtures: Awaited<ReturnType<typeof startSendFixtures>>;
  beforeAll(async () => {
    fixtures = await startSendFixtures();
  });
  beforeEach(async () => take(await fixtures.next()));
  afterAll(() => fixtures.close());
}
