import { randomUUID } from 'node:crypto';
import { Clock } from '../../src/platform/base/time/clock.ts';
import { ProviderBudget } from '../../src/platform/budgets/provider-budget.ts';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { GraphApi } from '../../src/providers/microsoft/graph-api.ts';
import { GraphCalendar } from '../../src/providers/microsoft/calendar/graph.calendar.ts';
import { GraphContacts } from '../../src/providers/microsoft/contacts/graph.contacts.ts';
import type { Connector, ProviderAccount } from '../../src/providers/port/connector.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { TestApplication } from './factories.ts';
import { HostedAccount } from './hosted-world.ts';
import { GraphClient } from './microsoft/graph-client.ts';
import type { Json } from './microsoft/http/types.ts';
import { MicrosoftStub } from './microsoft/microsoft-stub.ts';
import { UNPLEASANT_AT_ONCE } from './microsoft/settings.ts';
import type { TestApp } from './test-app.ts';

const LIMIT = { units: 1_000_000_000, seconds: 60 };
const LIMITS = { account: LIMIT, application: LIMIT, messages: LIMIT, concurrent: 4 };
const SCOPES = ['Calendars.ReadWrite', 'Contacts.ReadWrite', 'Place.Read.All'];

/** The sandbox with the calendars and contacts of Microsoft's stub. Its mail stays as it is. */
export class MicrosoftWorldFixture {
  private constructor(
    private readonly server: TestApp,
    readonly stub: MicrosoftStub,
    readonly calendar: GraphCalendar,
  ) {}

  static async start(server: TestApp): Promise<MicrosoftWorldFixture> {
    const usual = UNPLEASANT_AT_ONCE;
    const settings = { ...usual, requiresImmutableIds: true, requestsPerWindow: 1e9 };
    const stub = await MicrosoftStub.start({ settings });
    const { app } = server;
    const api = new GraphApi(
      app.get(EgressClient),
      app.get(Clock),
      app.get(ProviderBudget),
      LIMITS,
      stub.origin,
    );
    const calendar = withTokens(stub, new GraphCalendar(api, app.get(Clock)));
    const contacts = withTokens(stub, new GraphContacts(api));
    const registry = app.get(ConnectorRegistry);
    const own = { calendar: { value: calendar }, contacts: { value: contacts } };
    registry.replace(Object.create(registry.require('sandbox'), own) as Connector);
    return new MicrosoftWorldFixture(server, stub, calendar);
  }

  /** A new person at Microsoft, whose account is connected. */
  async connect(application: TestApplication) {
    const email = `user-${randomUUID()}@sandbox.test`;
    const { calendars, contacts } = this.stub.addUser(email, { displayName: 'Test User' });
    const account = await HostedAccount.connect(this.server, application, this.calendar, email);
    const client = new GraphClient(this.stub, this.stub.tokensFor(email, SCOPES).accessToken);
    /** A change by Outlook. */
    const outlook = async (method: string, path: string, body?: Json): Promise<Json> => {
      const answer = await client.send(method, `me/${path}`, body);
      expect(answer.status).toBeLessThan(300);
      return answer.body;
    };
    return {
      account,
      email,
      outlook,
      list: (path: string) => client.list(`me/${path}`),
      /** Single events and series as they are at Microsoft. */
      eventsAtMicrosoft: () => calendars.allEvents(),
      contactsAtMicrosoft: contacts,
    };
  }
}

const LOCAL: readonly PropertyKey[] = ['asStored', 'hasAddressBook'];

/** Calls every method that uses the network with a token for the account. */
function withTokens<T extends object>(stub: MicrosoftStub, port: T): T {
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      const method = member.bind(target) as (...given: unknown[]) => unknown;
      if (LOCAL.includes(name)) return method;
      return (account: ProviderAccount, ...rest: unknown[]) => {
        const { accessToken } = stub.tokensFor(account.email, SCOPES);
        return method({ ...account, accessToken }, ...rest);
      };
    },
  });
}
