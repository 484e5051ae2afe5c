import { randomUUID } from 'node:crypto';
import type { BudgetConfig } from '../../src/platform/config/sections/budget-config.ts';
import { MicrosoftConnector } from '../../src/providers/microsoft/microsoft.connector.ts';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import type { ForgetfulProvider } from './look-up-contract.ts';
import { MicrosoftStub } from './microsoft/microsoft-stub.ts';
import { type StubSettings, UNPLEASANT_AT_ONCE } from './microsoft/settings.ts';
import type { StubRequest } from './remote-stub/messages.ts';
import { accountWithToken, type ProviderParts, startProviderParts } from './provider-parts.ts';

const LIMIT = { units: 100_000_000, seconds: 1 };
const SCOPES = [
  'User.Read',
  'Mail.ReadWrite',
  'Mail.Send',
  'Mail.Send.Shared',
  'Calendars.ReadWrite',
  'Contacts.ReadWrite',
  'Place.Read.All',
];

/**
 * The connector of Microsoft for a server that stands in for Microsoft, with quotas that are never
 * used up; only four requests for one mailbox at the same time are allowed.
 * @param limits replaces single quotas of the connector
 */
export function microsoftConnector(
  parts: ProviderParts,
  address: string,
  limits: Partial<BudgetConfig['graph']> = {},
): MicrosoftConnector {
  return new MicrosoftConnector({
    ...parts,
    limits: { account: LIMIT, application: LIMIT, messages: LIMIT, concurrent: 4, ...limits },
    addresses: { login: address, graph: address },
  });
}

/** The connector of Microsoft against the stub of Microsoft. */
export class MicrosoftFixture {
  private constructor(
    readonly stub: MicrosoftStub,
    readonly connector: MicrosoftConnector,
    private readonly parts: ProviderParts,
  ) {}

  /**
   * @param limits replaces single quotas of the connector
   * @param manner how unpleasant the stub is. Default: at its worst
   */
  static async start(
    limits: Partial<BudgetConfig['graph']> = {},
    manner: Partial<StubSettings> = UNPLEASANT_AT_ONCE,
  ): Promise<MicrosoftFixture> {
    const settings = {
      ...manner,
      requestsPerWindow: 1e9,
      sendsPerMinute: 1e9,
      requiresImmutableIds: true,
    };
    const stub = await MicrosoftStub.start({ settings });
    const parts = await startProviderParts();
    return new MicrosoftFixture(stub, microsoftConnector(parts, stub.origin, limits), parts);
  }

  /**
   * A new person at Microsoft, who may send as somebody else, and an account with its token.
   * @param permissions default: all that Carillon uses
   */
  account(permissions: string[] = SCOPES): ProviderAccount {
    const email = `user-${randomUUID()}@contoso.test`;
    this.stub.addUser(email).sendAs.add('somebody@elsewhere.test');
    return accountWithToken(email, this.stub.tokensFor(email, permissions).accessToken, 'folder');
  }

  /** Exchange as the contract of look-ups needs it. */
  forgetful(): ForgetfulProvider {
    const { settings, faults, world } = this.stub;
    const match = ({ path }: StubRequest) => path.endsWith('/sendMail');
    return {
      mail: this.connector.mail,
      account: async () => this.account(),
      keeps(what) {
        settings.replacesMessageIds = what !== 'everything';
        settings.dropsHeaders = what === 'nothing';
      },
      loseResponse: (when) =>
        faults.add({ match, answer: when === 'after sending' ? 'drop-after-done' : 'drop' }),
      sent: ({ email }, subject) => {
        const { mailbox } = world.directory.user(email)!;
        const copies = mailbox.messagesIn(mailbox.folderId('sentitems'));
        return [...copies.values()].filter((copy) => copy.subject === subject).length;
      },
    };
  }

  /** An account whose token Microsoft does not know. */
  refusedAccount(): ProviderAccount {
    return accountWithToken('nobody@contoso.test', 'wrong', 'folder');
  }

  async stop(): Promise<void> {
    await this.connector.close();
    await this.stub.stop();
    await this.parts.stop();
  }
}
