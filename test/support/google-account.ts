import { randomUUID } from 'node:crypto';
import { gmailCosts } from '../../src/platform/config/sections/gmail-costs.ts';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import {
  CALENDAR_LIMIT,
  GoogleApi,
  googleAddresses,
} from '../../src/providers/google/google-api.ts';
import { GoogleCalendarPush } from '../../src/providers/google/calendar/google-calendar-push.ts';
import { GoogleConnector } from '../../src/providers/google/google.connector.ts';
import { headerValue } from './google/gmail/mime.ts';
import { GoogleStub } from './google/google-stub.ts';
import { scope } from './google/scopes.ts';
import type { ForgetfulProvider } from './look-up-contract.ts';
import type { StubRequest } from './remote-stub/messages.ts';
import { accountWithToken, type ProviderParts, startProviderParts } from './provider-parts.ts';

const LIMIT = { units: 100_000_000, seconds: 60 };

/** Google's connector for a server that stands in for Google, with a quota too large to use up. */
export function googleConnector(parts: ProviderParts, address: string): GoogleConnector {
  const { costs } = gmailCosts({ GMAIL_PROJECT: 'new' });
  return new GoogleConnector({
    ...parts,
    limits: { account: LIMIT, application: LIMIT, costs },
    address,
  });
}

/** The connector of Google against the stub of Google. */
export class GoogleFixture {
  private constructor(
    readonly stub: GoogleStub,
    readonly connector: GoogleConnector,
    readonly calendarPush: GoogleCalendarPush,
    private readonly parts: ProviderParts,
    private readonly egress: EgressClient,
  ) {}

  /** @param manner `worst`: with every unpleasant habit at once */
  static async start(manner: 'usual' | 'worst' = 'worst'): Promise<GoogleFixture> {
    const stub = await GoogleStub.start();
    if (manner === 'worst') stub.habits.worst();
    for (const quotas of [stub.quotas.perUser, stub.quotas.perProject])
      for (const { limit } of Object.values(quotas)) limit.units = 1_000_000_000;
    const parts = await startProviderParts();
    const { policy, clock, budget } = parts;
    const connector = googleConnector(parts, stub.origin);
    const egress = new EgressClient(policy);
    const addresses = googleAddresses(stub.origin);
    const api = new GoogleApi('calendar', egress, clock, budget, CALENDAR_LIMIT, addresses);
    return new GoogleFixture(stub, connector, new GoogleCalendarPush(api), parts, egress);
  }

  /** A new person at Google, and an account with its token. */
  account(): ProviderAccount {
    const email = `user-${randomUUID()}@gmail.test`;
    this.stub.addUser(email);
    const scopes = ['mail', 'calendar', 'contacts'].map(scope);
    return accountWithToken(email, this.stub.oauth.accessTokenFor(email, scopes), 'label');
  }

  /** An account whose token Google does not know. */
  refusedAccount(): ProviderAccount {
    return accountWithToken('nobody@gmail.test', 'wrong', 'label');
  }

  /** Gmail as the contract of look-ups needs it. */
  forgetful(): ForgetfulProvider {
    const { habits, faults, world } = this.stub;
    const match = ({ path }: StubRequest) => path.endsWith('/messages/send');
    return {
      mail: this.connector.mail,
      account: async () => this.account(),
      keeps(what) {
        habits.messageIds = what === 'everything' ? 'kept' : 'replaced';
        habits.ownHeaders = what === 'nothing' ? 'dropped' : 'kept';
      },
      loseResponse: (when) =>
        faults.add({ match, answer: when === 'after sending' ? 'drop-after-done' : 'drop' }),
      sent: ({ email }, subject) =>
        (world.users.get(email)?.mailbox.messages() ?? []).filter(
          ({ labels, headers }) =>
            labels.has('SENT') && headerValue(headers, 'subject') === subject,
        ).length,
    };
  }

  /** Puts the connector's clock forward. */
  advance(milliseconds: number): void {
    this.parts.clock.advance(milliseconds);
  }

  async stop(): Promise<void> {
    await this.connector.close();
    await this.egress.onApplicationShutdown();
    await this.stub.stop();
    await this.parts.stop();
  }
}
