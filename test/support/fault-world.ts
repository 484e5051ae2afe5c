import type { INestApplicationContext } from '@nestjs/common';
import { createApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import type { Trigger } from '../../src/platform/webhooks/webhook-state.ts';
import { createAccount, createApplication, type TestAccount } from './factories.ts';
import { Receiver } from './receiver.ts';
import { type SmtpSink, startSmtpSink } from './smtp-sink.ts';
import type { AcceptedMessage } from './smtp-sink-protocol.ts';
import { createWebhook } from './webhook-fixture.ts';
import { openWorldDatabase, WorkerWorld, type WorldDatabase } from './worker-world.ts';
import { fileURLToPath } from 'node:url';

const WORKER = fileURLToPath(new URL('./smtp-worker-process.ts', import.meta.url));
const TOLD: Trigger[] = ['job.successful', 'job.failed'];

/** Options of a `FaultWorld`. */
export interface FaultWorldOptions {
  accounts: number;
  /** Says which accounts have no Sent folder; default: none. */
  withoutSentFolder?: (index: number) => boolean;
  /** A running mail server; default: a new one. The world stops it. */
  sink?: SmtpSink;
  /** Port that an account connects to; default: that of the sink. */
  portOf?: (index: number) => number;
  /** URL of a migrated database; default: a new one on the test server. */
  databaseUrl?: string;
  /**
   * Whether webhook deliveries are sent. If false they are only stored, for tests with many
   * messages.
   */
  deliver?: boolean;
}

/**
 * Everything that fault tests of mail servers break. The world has worker processes of the built
 * program that send by SMTP, the mail server they send to, and their database. It also has a
 * subscriber to job notifications.
 */
export class FaultWorld extends WorkerWorld {
  /** A sandbox account with calendars and without mail. */
  calendarAccount: TestAccount | undefined;

  private constructor(
    database: WorldDatabase,
    readonly sink: SmtpSink,
    readonly receiver: Receiver,
  ) {
    super(database, WORKER);
  }

  static async start(options: FaultWorldOptions): Promise<FaultWorld> {
    const database = await openWorldDatabase(options.databaseUrl);
    const [sink, receiver] = await Promise.all([options.sink ?? startSmtpSink(), Receiver.start()]);
    const world = new FaultWorld(database, sink, receiver);
    await world.#seed(options);
    world.invariants.begin();
    return world;
  }

  /**
   * Stores the application, its webhook and its accounts directly, so that no server of ours has to
   * be up.
   */
  async #seed({
    accounts,
    withoutSentFolder,
    portOf,
    deliver = true,
  }: FaultWorldOptions): Promise<void> {
    const seed: INestApplicationContext = await createApp(
      loadConfig({ ...this.environment, ROLES: 'api', LOG_LEVEL: 'silent' }),
    );
    await seed.init();
    const application = await createApplication(seed, { features: ['sms'] });
    for (let index = 0; index < accounts; index += 1) {
      const hasSentFolder = !withoutSentFolder?.(index);
      const account = await createAccount(seed, application, {
        provider: 'imap',
        email: `sender-${index}@sink.test`,
        settings: {
          port: portOf?.(index) ?? this.sink.port,
          sent_url: hasSentFolder ? this.sink.sentUrl : null,
        },
      });
      this.accounts.push({ ...account, hasSentFolder });
    }
    this.calendarAccount = await createAccount(seed, application, {
      email: 'calendars@sandbox.test',
    });
    const state = deliver ? 'active' : 'failed';
    await createWebhook(seed, application, this.receiver.origin, { triggers: TOLD, state });
    await seed.close();
  }

  accepted(): Promise<AcceptedMessage[]> {
    return this.sink.accepted();
  }

  override async close(): Promise<void> {
    await super.close();
    await this.sink.stop();
    await this.receiver.stop();
  }
}
