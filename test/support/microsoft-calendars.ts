import { randomUUID } from 'node:crypto';
import { SystemClock } from '../../src/platform/base/time/clock.ts';
import { ProviderBudget } from '../../src/platform/budgets/provider-budget.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { EgressPolicy } from '../../src/platform/egress/egress-policy.ts';
import { GraphApi } from '../../src/providers/microsoft/graph-api.ts';
import { GraphCalendar } from '../../src/providers/microsoft/graph.calendar.ts';
import { GraphContacts } from '../../src/providers/microsoft/graph.contacts.ts';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import { MicrosoftStub } from './microsoft/microsoft-stub.ts';
import { createTestDatabase, type TestDatabase } from './test-database.ts';

const LIMIT = { units: 1_000_000, seconds: 60 };
const SCOPES = ['Calendars.ReadWrite', 'Contacts.ReadWrite', 'Place.Read.All'];

/** Calendars and contacts at the stub of Microsoft, with a quota that is never used up. */
export class MicrosoftCalendarFixture {
  private constructor(
    readonly stub: MicrosoftStub,
    readonly calendar: GraphCalendar,
    readonly contacts: GraphContacts,
    private readonly file: TestDatabase,
    private readonly database: Database,
    private readonly egress: EgressClient,
  ) {}

  static async start(): Promise<MicrosoftCalendarFixture> {
    const stub = await MicrosoftStub.start();
    Object.assign(stub.settings, { requiresImmutableIds: true, requestsPerWindow: 1_000_000 });
    const file = await createTestDatabase();
    const database = new Database({
      url: file.url,
      max: 5,
      statementTimeoutMs: 10_000,
      applicationName: 'test',
    });
    const egress = new EgressClient(new EgressPolicy(['127.0.0.0/8']));
    const clock = new SystemClock();
    const limits = { account: LIMIT, application: LIMIT, messages: LIMIT, concurrent: 4 };
    const api = new GraphApi(egress, clock, new ProviderBudget(database), limits, stub.origin);
    const calendar = new GraphCalendar(api, clock);
    const contacts = new GraphContacts(api);
    return new MicrosoftCalendarFixture(stub, calendar, contacts, file, database, egress);
  }

  /** A new person of one organization, and an account with its token. */
  account(): ProviderAccount {
    const email = `user-${randomUUID()}@contoso.test`;
    this.stub.addUser(email);
    return {
      accountId: randomUUID(),
      applicationId: 'application',
      email,
      name: 'Somebody',
      organizationUnit: 'folder',
      settings: {},
      accessToken: this.stub.tokensFor(email, SCOPES).accessToken,
    };
  }

  async stop(): Promise<void> {
    await this.egress.onApplicationShutdown();
    await this.stub.stop();
    await this.database.close();
    await this.file.drop();
  }
}
