import type { RemoteStub } from '../remote-stub/remote-stub.ts';

/** What a user lets an application do. */
export type Right = 'read mail' | 'mail' | 'calendar' | 'contacts';

/** Who gets a mail about an event, and why. */
export interface EventMail {
  kind: 'invitation' | 'update' | 'cancellation' | 'reply';
  to: string;
}

/** A message in a mailbox of a stub. */
export interface MessageAtCompany {
  subject: string;
  /** Where it is: `inbox`, `sent`, `drafts`, `trash`, or the name of another label or folder. */
  places: string[];
  isRead: boolean;
  isStarred: boolean;
  /** The company's id of the conversation. */
  thread: string;
}

/** A message that left the company. */
export interface SentAtCompany {
  subject: string;
  /** Recipients who are no users of the company. */
  outside: string[];
  /** As recipients get it. */
  mime: string;
}

/**
 * What tests need of the stub of a company, in words that are the same for Google and Microsoft.
 * For the rest, a test uses the stub itself.
 */
export interface CompanyStub {
  readonly stub: RemoteStub;
  /** Settings of a server that uses the stub in place of the company. */
  readonly environment: Readonly<Record<string, string>>;
  /** The application as registered at the company: settings of an integration. */
  readonly client: { client_id: string; client_secret: string };
  /** Path of the token endpoint of this client. */
  readonly tokenPath: string;
  addUser(email: string, name: string): void;
  /** Lets a message arrive in a user's inbox from outside. */
  deliver(email: string, mime: string): Promise<void>;
  messages(email: string): MessageAtCompany[];
  /** Names of the labels or folders that the user made. */
  ownFolders(email: string): string[];
  /** Everything that users sent to others outside, in order. */
  sent(): SentAtCompany[];
  /** Titles of the events of a user's primary calendar, with their participants. */
  events(email: string): { title: string; participants: string[] }[];
  /** Mails about events that the company sent by itself. */
  eventMails(): EventMail[];
  /** Number of contacts of a user. */
  contacts(email: string): number;
  /** Consent of a user as if given in the browser. */
  refreshToken(email: string, rights: readonly Right[]): string;
  /** An event that the user enters at the company, tomorrow. */
  plan(email: string, title: string): Promise<void>;
  /** When the company's reports of changes in the user's mailbox and calendars end. */
  reportsUntil(email: string): { mail: Date[]; calendars: Date[] };
  /** Notifications for addresses that begin with `address` are sent to `target` instead. */
  redirect(address: string, target: string): void;
  /** The user who signs in on the company's page, and agrees to everything. */
  signIn(email: string): void;
  /** Stops the stub. The test fails if a request or an answer was not as documented. */
  stop(): Promise<void>;
}

/** A company whose accounts are connected through its own APIs. */
export interface Company<C extends CompanyStub = CompanyStub> {
  readonly provider: 'google' | 'microsoft';
  readonly title: 'Google' | 'Microsoft';
  /** Provider that account objects show. */
  readonly accountProvider: 'gmail' | 'office365';
  readonly organizationUnit: 'label' | 'folder';
  readonly domain: string;
  /** @param now milliseconds of the stub's clock. Default: the system's clock */
  start(now?: () => number): Promise<C>;
}

/** A plain message from outside. @param headers more headers, each with its line break */
export const plainMessage = (to: string, subject: string, headers = ''): string =>
  [
    'From: Cy <cy@elsewhere.test>',
    `To: <${to}>`,
    `Subject: ${subject}`,
    `Message-ID: <${subject.replaceAll(/\W/g, '-')}-${to}>`,
    `${headers}Content-Type: text/plain`,
    '',
    'Good day',
    '',
  ].join('\r\n');
