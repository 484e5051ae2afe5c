import { z } from 'zod';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { ProviderBudget } from '../../platform/budgets/provider-budget.ts';
import type { BudgetConfig } from '../../platform/config/budget-config.ts';
import type { EgressClient } from '../../platform/egress/egress-client.ts';
import type { WorkThreads } from '../../platform/threads/work-threads.ts';
import type { Connector, ProviderAccount, VerifiedAccount } from '../port/connector.ts';
import { GmailAudit } from './gmail-audit.ts';
import { GmailChanges } from './gmail-changes.ts';
import { GmailContents } from './gmail-content.ts';
import { GmailWriter } from './gmail-api.ts';
import { GmailLists } from './gmail-listing.ts';
import { GmailMail } from './gmail.mail.ts';
import { GmailMailbox } from './gmail.mailbox.ts';
import {
  CALENDAR_LIMIT,
  DIRECTORY_LIMIT,
  GOOGLE_ADDRESSES,
  type GoogleAddresses,
  GoogleApi,
  PEOPLE_LIMIT,
} from './google-api.ts';
import { GoogleCalendar } from './google.calendar.ts';
import { GoogleCalendarPush } from './google-calendar-push.ts';
import { GooglePush } from './google.push.ts';
import { GoogleContacts } from './google.contacts.ts';

/** Dependencies of the connector. */
export interface GoogleDependencies {
  egress: EgressClient;
  clock: Clock;
  threads: WorkThreads;
  budget: ProviderBudget;
  limits: BudgetConfig['gmail'];
  /** Default: Google's own. */
  addresses?: GoogleAddresses;
}

/** Accounts of Google: Gmail, Google Calendar and Google Contacts, each by its own API. */
export class GoogleConnector implements Connector {
  readonly name = 'google';
  readonly receivesMail = true;
  readonly settingsSchema = z.object({});
  readonly mail: GmailMail;
  readonly mailbox: GmailMailbox;
  readonly calendar: GoogleCalendar;
  readonly contacts: GoogleContacts;
  readonly push: GooglePush;
  readonly #gmail: GmailWriter;

  constructor(dependencies: GoogleDependencies) {
    const { egress, clock, threads, budget, limits, addresses = GOOGLE_ADDRESSES } = dependencies;
    const mailApi = new GoogleApi('gmail', egress, clock, budget, limits, addresses);
    this.#gmail = new GmailWriter(mailApi);
    const contents = new GmailContents(mailApi, this.#gmail, threads);
    const lists = new GmailLists(mailApi, this.#gmail);
    const changes = new GmailChanges(this.#gmail, lists, contents);
    const audit = new GmailAudit(this.#gmail, contents);
    this.mail = new GmailMail(this.#gmail, changes, contents, audit, clock);
    this.mailbox = new GmailMailbox(this.#gmail);
    const calendarApi = new GoogleApi('calendar', egress, clock, budget, CALENDAR_LIMIT, addresses);
    const directoryApi = new GoogleApi(
      'directory', egress, clock, budget, DIRECTORY_LIMIT, addresses,
    ); // prettier-ignore
    this.calendar = new GoogleCalendar(calendarApi, directoryApi);
    this.push = new GooglePush(new GoogleCalendarPush(calendarApi));
    this.contacts = new GoogleContacts(
      new GoogleApi('people', egress, clock, budget, PEOPLE_LIMIT, addresses),
    );
  }

  /** Gmail says whose mailbox the token opens: nobody can connect another one's address. */
  async verify(account: Omit<ProviderAccount, 'accountId'>): Promise<VerifiedAccount> {
    const one = { ...account, accountId: '' };
    const { emailAddress } = await this.#gmail.profile(one, 'interactive');
    const email = emailAddress.toLowerCase();
    if (account.email !== '' && email !== account.email.toLowerCase()) {
      throw new ProviderError(
        'auth-invalid',
        `Google: the token is for ${email}, not for ${account.email}`,
      );
    }
    return {
      email,
      name: account.name || email.replace(/@.*$/, ''),
      organizationUnit: 'label',
      proof: 'oauth',
    };
  }
}
