import type { Connector, ProviderAccount } from '../../src/providers/port/connector.ts';
import { describeCalendars, describeEventChanges } from './calendar-contract.ts';
import { describeContacts } from './contacts-contract.ts';
import { codeOf, changesRequest, outgoing, sendControl } from './contract-tools.ts';
import { describeHostedCalendars, type HostedCapabilities } from './hosted-contract.ts';
import { describeMail } from './mail-contract.ts';
import { describeMailbox } from './mailbox-contract.ts';

export {
  allChanges,
  codeOf,
  changesRequest as look,
  mimeOf,
  outgoing,
  sendControl,
} from './contract-tools.ts';

/** What a connector's spec provides to run the contract tests. */
export interface ConnectorUnderTest {
  connector: Connector;
  /** Creates an account that no other test uses, whose mailbox is (nearly) empty. */
  account(): Promise<ProviderAccount>;
  /** Like `account`, but the provider refuses the credentials. */
  refusedAccount(): Promise<ProviderAccount>;
}

/** What a connector offers besides mail. */
export interface ConnectorCapabilities {
  /** Whether mailboxes can be changed; default true. If false, there are no tests for it. */
  mailbox?: boolean;
  /** Whether there are calendars; default true. If false, there are no tests for them. */
  calendars?: boolean;
  /** Default of this and the following: false. Tests of a missing part are reported as skipped. */
  eventChanges?: boolean;
  /** See `EventChangeTraits.partial`. */
  partialEventChanges?: boolean;
  hostedCalendars?: HostedCapabilities;
  contacts?: boolean;
}

/**
 * Tests for what every connector guarantees. A connector's spec calls this function once and adds
 * tests of its own.
 * @param make called once per test
 */
export function describeConnectorContract(
  name: string,
  make: () => Promise<ConnectorUnderTest>,
  capabilities: ConnectorCapabilities = {},
): void {
  describe(`${name}: connector contract`, () => {
    describeCredentials(make);
    describeMail(async () => {
      const { connector, account } = await make();
      if (!connector.mail) throw new Error(`${name} has no mail`);
      return { mail: connector.mail, account };
    });
    if (capabilities.mailbox ?? true) {
      describeMailbox(async () => {
        const { connector, account } = await make();
        const { mail, mailbox } = connector;
        if (!mail || !mailbox) throw new Error(`${name} has no mailboxes`);
        return { mail, mailbox, account };
      });
    }
    if (capabilities.calendars ?? true) describeCalendarParts(name, make, capabilities);
    describeContacts(async () => {
      const { connector, account } = await make();
      return { contacts: connector.contacts, account };
    }, capabilities.contacts ?? false);
  });
}

function describeCalendarParts(
  name: string,
  make: () => Promise<ConnectorUnderTest>,
  { eventChanges, partialEventChanges, hostedCalendars }: ConnectorCapabilities,
): void {
  const calendars = async () => {
    const { connector, account } = await make();
    if (!connector.calendar) throw new Error(`${name} has no calendars`);
    return { calendar: connector.calendar, account };
  };
  describeCalendars(calendars);
  describeEventChanges(calendars, eventChanges ?? false, { partial: partialEventChanges ?? false });
  describeHostedCalendars(calendars, hostedCalendars ?? {});
}

/**
 * Expects that the schema of a connector's settings declares every name: names that it does not
 * declare are reported to clients as unknown.
 */
export function expectDeclaredSettings(connector: Connector, account?: ProviderAccount): void {
  const { settingsSchema, shownSettings = [] } = connector;
  const declared = Object.keys(settingsSchema.shape);
  expect(declared).toEqual(expect.arrayContaining([...shownSettings]));
  expect(declared).toEqual(expect.arrayContaining(Object.keys(account?.settings ?? {})));
  const parsed = settingsSchema.partial().safeParse({ zz_undeclared: 1 });
  expect(parsed.data ?? {}).not.toHaveProperty('zz_undeclared');
}

/** Tests for `Connector.verify`, and for refused credentials in every other part. */
export function describeCredentials(make: () => Promise<ConnectorUnderTest>): void {
  describe('credentials', () => {
    it('accepts an account and reports its identity', async () => {
      const { connector, account } = await make();
      const one = await account();
      const verified = await connector.verify(one);
      expect(verified.email).toBe(one.email);
      expect(verified.name).not.toBe('');
      expect(['folder', 'label']).toContain(verified.organizationUnit);
    });

    it('declares the name of every setting', async () => {
      const { connector, account } = await make();
      expectDeclaredSettings(connector, await account());
    });

    it('refuses wrong credentials everywhere with auth-invalid', async () => {
      const { connector, refusedAccount } = await make();
      const one = await refusedAccount();
      const calls = [
        connector.verify(one),
        connector.mail?.send(one, outgoing(one, ['a@elsewhere.test']), sendControl()),
        connector.mail?.listChanges(one, changesRequest(null, 10)),
        connector.mailbox?.createFolder(one, 'Contract'),
        connector.calendar?.listCalendars(one),
      ];
      const codes = await Promise.all(calls.filter((call) => call !== undefined).map(codeOf));
      expect(new Set(codes)).toEqual(new Set(['auth-invalid']));
    });
  });
}
