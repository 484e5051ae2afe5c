import { z } from 'zod';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { ProviderBudget } from '../../platform/budgets/provider-budget.ts';
import type { BudgetConfig } from '../../platform/config/sections/budget-config.ts';
import { EgressClient } from '../../platform/egress/egress-client.ts';
import type { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import type { WorkThreads } from '../../platform/threads/work-threads.ts';
import type { Connector, ProviderAccount, VerifiedAccount } from '../port/connector.ts';
import { GmailAudit } from './gmail/gmail-audit.ts';
import { GmailChanges } from './gmail/gmail-changes.ts';
import { GmailContents } from './gmail/gmail-content.ts';
import { GmailWriter } from './gmail/gmail-writer.ts';
import { GmailLists } from './gmail/gmail-listing.ts';
import { GmailLookups } from './gmail/gmail-lookups.ts';
import { GmailMail } from './gmail/gmail.mail.ts';
import { GmailMailbox } from './gmail/gmail.mailbox.ts';
import { GmailPush } from './gmail/gmail-push.ts';
import {
  CALENDAR_LIMIT,
  DIRECTORY_LIMIT,
  GoogleApi,
  googleAddresses,
  PEOPLE_LIMIT,
} from './google-api.ts';
import { GoogleCalendar } from './calendar/google.calendar.ts';
import { GoogleCalendarPush } from './calendar/google-calendar-push.ts';
import { GooglePubSub } from './google-pubsub.ts';
import { GooglePushTokens } from './google-push-tokens.ts';
import { GooglePush } from './google.push.ts';
import { GoogleContacts } from './google.contacts.ts';
import { GoogleIdentity } from './google-identity.ts';
import { googleIntegration, googleOauth } from './google.oauth.ts';
import { googleNativeSettings, googleSignIn } from './google.sign-in.ts';

/**
 * Connections to one of Google's addresses. All Google accounts of a process share them, and each
 * has several requests at a time.
 */
const CONNECTIONS = 128;

/** Dependencies of the connector. */
export interface GoogleDependencies {
  policy: EgressPolicy;
  clock: Clock;
  threads: WorkThreads;
  budget: ProviderBudget;
  limits: BudgetConfig['gmail'];
  /** Address that stands for all of Google's. `null` for Google's own. */
  address: string | null;
}

/** Accounts of Google: Gmail, Google Calendar and Google Contacts, each by its own API. */
export class GoogleConnector implements Connector {
  readonly name = 'google';
  readonly accountProvider = 'gmail';
  readonly integration = googleIntegration;
  readonly oauth;
  readonly signIn = googleSignIn;
  readonly nativeSettings = googleNativeSettings;
  readonly receivesMail = true;
  readonly settingsSchema = z.object({});
  readonly mail: GmailMail;
  readonly mailbox: GmailMailbox;
  readonly calendar: GoogleCalendar;
  readonly contacts: GoogleContacts;
  readonly push: GooglePush;
  readonly #egress: EgressClient;
  readonly #identity: GoogleIdentity;

  constructor(dependencies: GoogleDependencies) {
    const { policy, clock, threads, budget, limits, address } = dependencies;
    const addresses = googleAddresses(address);
    const egress = new EgressClient(policy, { connectionsPerOrigin: CONNECTIONS });
    this.#egress = egress;
    this.oauth = googleOauth(addresses.issuer);
    const mailApi = new GoogleApi('gmail', egress, clock, budget, limits, addresses);
    const gmail = new GmailWriter(mailApi, limits.costs);
    this.#identity = new GoogleIdentity(gmail, egress, clock, addresses.userInfo);
    const contents = new GmailContents(mailApi, gmail, threads);
    const lists = new GmailLists(mailApi, gmail);
    const changes = new GmailChanges(gmail, lists, contents, clock);
    const audit = new GmailAudit(gmail);
    const lookups = new GmailLookups(gmail, clock);
    this.mail = new GmailMail(gmail, changes, contents, audit, lookups);
    this.mailbox = new GmailMailbox(gmail, lookups);
    const calendarApi = new GoogleApi('calendar', egress, clock, budget, CALENDAR_LIMIT, addresses);
    const directoryApi = new GoogleApi(
      'directory',
      egress,
      clock,
      budget,
      DIRECTORY_LIMIT,
      addresses,
    );
    this.calendar = new GoogleCalendar(calendarApi, directoryApi);
    const pubsub = new GooglePubSub(egress, clock, addresses);
    const tokens = new GooglePushTokens(egress, clock, addresses.issuer, addresses.keys);
    this.push = new GooglePush(
      new GmailPush(mailApi, pubsub, tokens, limits.costs),
      new GoogleCalendarPush(calendarApi),
    );
    this.contacts = new GoogleContacts(
      new GoogleApi('people', egress, clock, budget, PEOPLE_LIMIT, addresses),
    );
  }

  verify(account: Omit<ProviderAccount, 'accountId'>): Promise<VerifiedAccount> {
    return this.#identity.verify(account);
  }

  /** Closes the connections to Google. */
  close(): Promise<void> {
    return this.#egress.onApplicationShutdown();
  }
}
