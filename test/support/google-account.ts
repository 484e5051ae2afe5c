import { randomUUID } from 'node:crypto';
import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import { SystemClock } from '../../src/platform/base/time/clock.ts';
import { ProviderBudget } from '../../src/platform/budgets/provider-budget.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { EgressPolicy } from '../../src/platform/egress/egress-policy.ts';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import {
  CALENDAR_LIMIT,
  GoogleApi,
  googleAddresses,
} from '../../src/providers/google/google-api.ts';
import { GoogleCalendarPush } from '../../src/providers/google/google-calendar-push.ts';
import { GoogleConnector } from '../../src/providers/google/google.connector.ts';
import { GoogleStub } from './google/google-stub.ts';
import { scope } from './google/scopes.ts';
import { createTestDatabase, type TestDatabase } from './test-database.ts';

const LIMIT = { units: 100_000_000, seconds: 60 };

/** The connector of Google against the stub of Google, with a quota that is never used up. */
export class GoogleFixture {
  private constructor(
    readonly stub: GoogleStub,
    readonly connector: GoogleConnector,
    readonly calendarPush: GoogleCalendarPush,
    private readonly file: TestDatabase,
    private readonly database: Database,
    private readonly egress: EgressClient,
    private readonly threads: WorkThreads,
  ) {}

  static async start(): Promise<GoogleFixture> {
    const stub = await GoogleStub.start();
    for (const quotas of [stub.quotas.perUser, stub.quotas.perProject])
      for (const { limit } of Object.values(quotas)) limit.units = 1_000_000_000;
    const file = await createTestDatabase();
    const database = new Database({
      url: file.url,
      max: 5,
      statementTimeoutMs: 10_000,
      applicationName: 'test',
    });
    const threads = new WorkThreads();
    const policy = new EgressPolicy(['127.0.0.0/8']);
    const clock = new SystemClock();
    const budget = new ProviderBudget(database);
    const limits = { account: LIMIT, application: LIMIT };
    const address = stub.origin;
    const connector = new GoogleConnector({ policy, clock, threads, budget, limits, address });
    const egress = new EgressClient(policy);
    const addresses = googleAddresses(address);
    const api = new GoogleApi('calendar', egress, clock, budget, CALENDAR_LIMIT, addresses);
    const push = new GoogleCalendarPush(api);
    return new GoogleFixture(stub, connector, push, file, database, egress, threads);
  }

  /** A new person at Google, and an account with its token. */
  account(): ProviderAccount {
    const email = `user-${randomUUID()}@gmail.test`;
    this.stub.addUser(email);
    const scopes = ['mail', 'calendar', 'contacts'].map(scope);
    return accountOf(email, this.stub.oauth.accessTokenFor(email, scopes));
  }

  /** An account whose token Google does not know. */
  refusedAccount(): ProviderAccount {
    return accountOf('nobody@gmail.test', 'wrong');
  }

  async stop(): Promise<void> {
    await this.threads.close();
    await this.connector.close();
    await this.egress.onApplicationShutdown();
    await this.stub.stop();
    await this.database.close();
    await this.file.drop();
  }
}

function accountOf(email: string, accessToken: string): ProviderAccount {
  return {
    accountId: randomUUID(),
    applicationId: 'application',
    email,
    name: 'Somebody',
    organizationUnit: 'label',
    settings: {},
    accessToken,
  };
}
