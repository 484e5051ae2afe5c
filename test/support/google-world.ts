import { randomUUID } from 'node:crypto';
import { Clock } from '../../src/platform/base/time/clock.ts';
import { ProviderBudget } from '../../src/platform/budgets/provider-budget.ts';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import {
  CALENDAR_LIMIT,
  DIRECTORY_LIMIT,
  GoogleApi,
  googleAddresses,
  type GoogleApiName,
  type GoogleLimit,
} from '../../src/providers/google/google-api.ts';
import { GoogleCalendar } from '../../src/providers/google/calendar/google.calendar.ts';
import { GoogleContacts } from '../../src/providers/google/google.contacts.ts';
import type { Connector, ProviderAccount } from '../../src/providers/port/connector.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { TestApplication } from './factories.ts';
import { GoogleStub } from './google/google-stub.ts';
import { scope } from './google/scopes.ts';
import { type Any, StubClient } from './google/stub-client.ts';
import { HostedAccount } from './hosted-world.ts';
import type { TestApp } from './test-app.ts';

/** The sandbox with the calendars and contacts of Google's stub. Its mail stays as it is. */
export class GoogleWorldFixture {
  private constructor(
    private readonly server: TestApp,
    readonly stub: GoogleStub,
    readonly calendar: GoogleCalendar,
    private readonly events: HeldCalendar,
  ) {}

  /** The next creation of an event ends at Google, but its result waits until `open`. */
  holdCreations(): { reached: Promise<void>; open: () => void } {
    const opened = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    this.events.afterCreation = () => {
      reached.resolve();
      return opened.promise;
    };
    return { reached: reached.promise, open: opened.resolve };
  }

  static async start(server: TestApp): Promise<GoogleWorldFixture> {
    const stub = await GoogleStub.start();
    stub.habits.worst();
    for (const quotas of [stub.quotas.perUser, stub.quotas.perProject])
      for (const { limit } of Object.values(quotas)) limit.units = 1_000_000_000;
    const { app } = server;
    const addresses = googleAddresses(stub.origin);
    const api = (name: GoogleApiName, limit: GoogleLimit) =>
      new GoogleApi(
        name,
        app.get(EgressClient),
        app.get(Clock),
        app.get(ProviderBudget),
        limit,
        addresses,
      );
    const events = new HeldCalendar(
      api('calendar', CALENDAR_LIMIT),
      api('directory', DIRECTORY_LIMIT),
    );
    const calendar = withTokens(stub, events);
    // Contacts are read and written faster than a real account may.
    const contacts = withTokens(stub, new GoogleContacts(api('people', CALENDAR_LIMIT)));
    const registry = app.get(ConnectorRegistry);
    const own = { calendar: { value: calendar }, contacts: { value: contacts } };
    registry.replace(Object.create(registry.require('sandbox'), own) as Connector);
    return new GoogleWorldFixture(server, stub, calendar, events);
  }

  /** A new person at Google, whose account is connected. */
  async connect(application: TestApplication) {
    const email = `user-${randomUUID()}@sandbox.test`;
    this.stub.addUser(email);
    const account = await HostedAccount.connect(this.server, application, this.calendar, email);
    const client = new StubClient(this.stub, email);
    const at = `/calendar/v3/calendars/${encodeURIComponent(email)}/events`;
    /** A call by Google's own pages. */
    const web = async (method: string, path: string, body?: object): Promise<Any> => {
      const answer = await client.call(method, path, body);
      expect(answer.status).toBeLessThan(300);
      return answer.body;
    };
    const calendarAtGoogle = this.stub.calendars.all.get(email)!;
    return {
      account,
      email,
      web,
      /** A change of an event by Google's own pages; `path` begins with a slash. */
      webEvent: (method: string, path: string, body?: object) => web(method, at + path, body),
      calendarAtGoogle,
      eventsAtGoogle: (): Any[] =>
        [...calendarAtGoogle.events.values()]
          .map(({ event }) => event)
          .filter(({ status }) => status !== 'cancelled'),
    };
  }
}

class HeldCalendar extends GoogleCalendar {
  afterCreation: () => Promise<void> = () => Promise.resolve();

  override async createEvent(...given: Parameters<GoogleCalendar['createEvent']>) {
    const ids = await super.createEvent(...given);
    await this.afterCreation();
    return ids;
  }
}

const LOCAL: readonly PropertyKey[] = ['asStored', 'hasAddressBook'];

/** Calls every method that uses the network with a token for the account. */
function withTokens<T extends object>(stub: GoogleStub, port: T): T {
  const scopes = ['calendar', 'contacts'].map(scope);
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      const method = member.bind(target) as (...given: unknown[]) => unknown;
      if (LOCAL.includes(name)) return method;
      return (account: ProviderAccount, ...rest: unknown[]) => {
        const accessToken = stub.oauth.accessTokenFor(account.email, scopes);
        return method({ ...account, accessToken }, ...rest);
      };
    },
  });
}
