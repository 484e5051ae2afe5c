import { randomUUID } from 'node:crypto';
import { SystemClock } from '../../src/platform/base/time/clock.ts';
import { ProviderBudget } from '../../src/platform/budgets/provider-budget.ts';
import type { BudgetConfig } from '../../src/platform/config/budget-config.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { EgressPolicy } from '../../src/platform/egress/egress-policy.ts';
import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import { MicrosoftConnector } from '../../src/providers/microsoft/microsoft.connector.ts';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import { MicrosoftStub } from './microsoft/microsoft-stub.ts';
import { createTestDatabase, type TestDatabase } from './test-database.ts';

const LIMIT = { units: 100_000_000, seconds: 1 };
const SCOPES = ['User.Read', 'Mail.ReadWrite', 'Mail.Send', 'Calendars.ReadWrite', 'Contacts.ReadWrite', 'Place.Read.All']; // prettier-ignore

/**
 * The connector of Microsoft against the stub of Microsoft, with quotas that are never used up;
 * only four requests for one mailbox at the same time are allowed.
 */
export class MicrosoftFixture {
  private constructor(
    readonly stub: MicrosoftStub,
    readonly connector: MicrosoftConnector,
    private readonly file: TestDatabase,
    private readonly database: Database,
    private readonly threads: WorkThreads,
  ) {}

  /** @param limits replaces single quotas of the connector */
  static async start(limits: Partial<BudgetConfig['graph']> = {}): Promise<MicrosoftFixture> {
    const settings = {
      requestsPerWindow: 1e9,
      sendsPerMinute: 1e9,
      requiresImmutableIds: true,
    };
    const stub = await MicrosoftStub.start({ settings });
    const file = await createTestDatabase();
    const database = new Database({
      url: file.url,
      max: 5,
      statementTimeoutMs: 10_000,
      applicationName: 'test',
    });
    const threads = new WorkThreads();
    const { origin } = stub;
    const connector = new MicrosoftConnector({
      policy: new EgressPolicy(['127.0.0.0/8']),
      clock: new SystemClock(),
      threads,
      budget: new ProviderBudget(database),
      limits: { account: LIMIT, application: LIMIT, messages: LIMIT, concurrent: 4, ...limits },
      addresses: { login: origin, graph: origin },
    });
    return new MicrosoftFixture(stub, connector, file, database, threads);
  }

  /**
   * A new person at Microsoft, who may send as somebody else, and an account with its token.
   * @param permissions default: all that Carillon uses
   */
  account(permissions: string[] = SCOPES): ProviderAccount {
    const email = `user-${randomUUID()}@contoso.test`;
    this.stub.addUser(email).sendAs.add('somebody@elsewhere.test');
    return accountOf(email, this.stub.tokensFor(email, permissions).accessToken);
  }

  /** An account whose token Microsoft does not know. */
  refusedAccount(): ProviderAccount {
    return accountOf('nobody@contoso.test', 'wrong');
  }

  async stop(): Promise<void> {
    await this.threads.close();
    await this.connector.close();
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
    organizationUnit: 'folder',
    settings: {},
    accessToken,
  };
}
