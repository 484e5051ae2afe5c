import { z } from 'zod';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { ProviderBudget } from '../../platform/budgets/provider-budget.ts';
import type { BudgetConfig } from '../../platform/config/sections/budget-config.ts';
import { EgressClient } from '../../platform/egress/egress-client.ts';
import type { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import type { WorkThreads } from '../../platform/threads/work-threads.ts';
import type { Connector, ProviderAccount, VerifiedAccount } from '../port/connector.ts';
import { openMailbox } from './graph-access.ts';
import { GraphApi } from './graph-api.ts';
import { GraphAudit } from './mail/graph-audit.ts';
import { GraphChanges } from './mail/graph-changes.ts';
import { GraphContents } from './mail/graph-content.ts';
import { GraphFolders } from './mail/graph-folders.ts';
import { GraphCalendar } from './calendar/graph.calendar.ts';
import { GraphContacts } from './contacts/graph.contacts.ts';
import { GraphMail } from './mail/graph.mail.ts';
import { GraphMailbox } from './mail/graph.mailbox.ts';
import { GraphOutgoing } from './mail/graph-outgoing.ts';
import { GraphSenders } from './mail/graph-senders.ts';
import { GraphPush } from './graph.push.ts';
import {
  type MicrosoftAddresses,
  microsoftIntegration,
  microsoftOauth,
} from './microsoft.oauth.ts';
import { microsoftSettings } from './microsoft.settings.ts';
import { microsoftNativeSettings, microsoftSignIn } from './microsoft.sign-in.ts';

/**
 * Connections to Graph. All Microsoft accounts of a process share them, and each has up to four
 * requests at a time.
 */
const CONNECTIONS = 128;

/** Dependencies of the connector. */
export interface MicrosoftDependencies {
  policy: EgressPolicy;
  clock: Clock;
  threads: WorkThreads;
  budget: ProviderBudget;
  limits: BudgetConfig['graph'];
  addresses: MicrosoftAddresses;
}

const person = z.object({
  mail: z.string().nullish(),
  userPrincipalName: z.string().nullish(),
  displayName: z.string().nullish(),
});

/** Accounts of Microsoft 365 and Outlook.com, by Microsoft Graph. */
export class MicrosoftConnector implements Connector {
  readonly name = 'microsoft';
  readonly accountProvider = 'office365';
  readonly integration = microsoftIntegration;
  readonly oauth;
  readonly signIn = microsoftSignIn;
  readonly nativeSettings = microsoftNativeSettings;
  readonly settingsSchema = microsoftSettings;
  readonly shownSettings = ['app_only', 'shared_mailbox'];
  readonly receivesMail = true;
  readonly mail: GraphMail;
  readonly mailbox: GraphMailbox;
  readonly calendar: GraphCalendar;
  readonly contacts: GraphContacts;
  readonly push: GraphPush;
  readonly #egress: EgressClient;
  readonly #graph: GraphApi;

  constructor(dependencies: MicrosoftDependencies) {
    const { policy, clock, threads, budget, limits, addresses } = dependencies;
    const egress = new EgressClient(policy, { connectionsPerOrigin: CONNECTIONS });
    this.#egress = egress;
    this.oauth = microsoftOauth(addresses);
    const graph = new GraphApi(egress, clock, budget, limits, addresses.graph);
    this.#graph = graph;
    const folders = new GraphFolders(graph, clock);
    const contents = new GraphContents(graph, threads);
    const outgoing = new GraphOutgoing(graph, threads);
    this.mail = new GraphMail({
      graph,
      contents,
      outgoing,
      senders: new GraphSenders(outgoing, clock),
      changes: new GraphChanges(graph, folders, contents, clock),
      audit: new GraphAudit(graph, folders, contents),
    });
    this.mailbox = new GraphMailbox(graph, folders, outgoing);
    this.calendar = new GraphCalendar(graph, clock);
    this.contacts = new GraphContacts(graph);
    this.push = new GraphPush(graph, clock);
  }

  /**
   * Microsoft says whose token it is. If the mailbox opens as well, the address belongs to it,
   * because Exchange gives mailboxes only addresses in domains that the organization owns. A
   * mailbox that is not the user's own is opened by its address. A token that opens no part of a
   * mailbox, such as one that may only send, is refused: the address alone would prove nothing.
   */
  async verify(account: Omit<ProviderAccount, 'accountId'>): Promise<VerifiedAccount> {
    const one = { ...account, accountId: '' };
    const { app_only, shared_mailbox } = microsoftSettings.parse(account.settings);
    const permissions = this.#permissionsOf(one);
    const covered = await openMailbox(this.#graph, one, permissions, shared_mailbox === true);
    const found = { organizationUnit: 'folder', proof: 'oauth', covered } as const;
    const named = { ...nameOf(account.email, account.name), ...found };
    // The identity of the sign-in is that of a user, who may have an account as well.
    if (shared_mailbox) return { ...named, subject: `mailbox:${named.email}` };
    if (app_only) return named;
    const { mail, userPrincipalName, displayName } = await this.#graph.read(
      one,
      { method: 'GET', path: '', query: { $select: PERSON }, priority: 'interactive' },
      person,
    );
    const addresses = [mail, userPrincipalName].flatMap((value) => value?.toLowerCase() ?? []);
    const [email] = addresses;
    const wanted = account.email.toLowerCase();
    if (email === undefined || (wanted !== '' && !addresses.includes(wanted))) {
      throw new ProviderError(
        'auth-invalid',
        `Microsoft: the token is for ${email ?? 'nobody'}, not for ${account.email}`,
      );
    }
    return { ...nameOf(email, account.name || displayName || ''), ...found };
  }

  /** The permissions of the token, without the address of the API; `null` if they are not known. */
  #permissionsOf({ providerScopes: names }: ProviderAccount): string[] | null {
    if (names === undefined || this.oauth.covered(names) === null) return null;
    return names.map((name) => name.slice(name.lastIndexOf('/') + 1));
  }

  /** Closes the connections to Graph. */
  close(): Promise<void> {
    return this.#egress.onApplicationShutdown();
  }
}

const PERSON = 'mail,userPrincipalName,displayName';

const nameOf = (email: string, name: string) => ({
  email: email.toLowerCase(),
  name: name || email.replace(/@.*$/, ''),
});
