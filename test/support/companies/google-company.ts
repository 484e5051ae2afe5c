import type { MailMessage } from '../google/gmail/mailbox.ts';
import { headerValue } from '../google/gmail/mime.ts';
import { GoogleStub } from '../google/google-stub.ts';
import { StubClient } from '../google/stub-client.ts';
import { scope } from '../google/scopes.ts';
import { expectDocumented } from '../remote-stub/remote-stub.ts';
import type {
  Company,
  CompanyStub,
  EventMail,
  MessageAtCompany,
  Right,
  SentAtCompany,
} from './company.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SCOPES: Readonly<Record<Right, readonly string[]>> = {
  'read mail': ['gmail.readonly'],
  mail: ['gmail.modify'],
  calendar: ['calendar'],
  contacts: ['contacts'],
};
const PLACES: Readonly<Record<string, string>> = {
  INBOX: 'inbox',
  SENT: 'sent',
  DRAFT: 'drafts',
  TRASH: 'trash',
};

export class GoogleCompanyStub implements CompanyStub {
  readonly client;
  readonly environment;
  readonly tokenPath = '/token';

  constructor(readonly stub: GoogleStub) {
    const { id, secret } = stub.oauth.client;
    this.client = { client_id: id, client_secret: secret };
    this.environment = { GOOGLE_URL: stub.origin };
  }

  addUser(email: string, name: string): void {
    this.stub.addUser(email, name);
  }

  deliver(email: string, mime: string): Promise<void> {
    this.stub.deliver(mime, [email]);
    return Promise.resolve();
  }

  messages(email: string): MessageAtCompany[] {
    return this.#user(email)
      .mailbox.messages()
      .map((message) => this.#shown(email, message));
  }

  ownFolders(email: string): string[] {
    const labels = this.#user(email).mailbox.labels.all();
    return labels.filter(({ type }) => type === 'user').map(({ name }) => name);
  }

  sent(): SentAtCompany[] {
    return this.stub.outgoing.map(({ raw, to }) => {
      const mime = raw.toString();
      return { subject: /^Subject: (.*?)\r?$/im.exec(mime)?.[1] ?? '', outside: to, mime };
    });
  }

  events(email: string) {
    const events = [...(this.stub.calendars.all.get(email)?.events.values() ?? [])];
    return events
      .filter(({ event }) => event.status !== 'cancelled')
      .map(({ event: { summary = '', attendees = [] } }) => ({
        title: summary,
        participants: attendees.map((one) => one.email ?? ''),
      }));
  }

  eventMails(): EventMail[] {
    return this.stub.calendars.mails.map(({ kind, to }) => ({ kind, to }));
  }

  contacts(email: string): number {
    const people = [...this.#user(email).contacts.people.values()];
    return people.filter(({ isDeleted }) => !isDeleted).length;
  }

  refreshToken(email: string, rights: readonly Right[]): string {
    const scopes = rights.flatMap((right) => SCOPES[right]).map(scope);
    return this.stub.oauth.refreshTokenFor(email, ['openid', 'email', 'profile', ...scopes]);
  }

  async plan(email: string, summary: string): Promise<void> {
    const [start, end] = [DAY_MS, DAY_MS + HOUR_MS].map((ms) => ({
      dateTime: new Date(this.stub.now() + ms).toISOString(),
    }));
    const path = `/calendar/v3/calendars/${encodeURIComponent(email)}/events`;
    const { status } = await new StubClient(this.stub, email).call('POST', path, {
      summary,
      start,
      end,
    });
    expect(status).toBe(200);
  }

  reportsUntil(email: string) {
    const { watch } = this.#user(email);
    const { channels } = this.stub.calendars;
    const own = [...channels.open.values()].filter(({ resource }) =>
      resource.endsWith(` ${email}`),
    );
    const now = this.stub.now();
    const dates = (ends: number[]) => ends.filter((end) => end > now).map((end) => new Date(end));
    return {
      mail: dates(watch ? [watch.expiresAt] : []),
      calendars: dates(own.map(({ expiresAt }) => expiresAt)),
    };
  }

  redirect(address: string, target: string): void {
    const reach = (url: string) => url.replace(address, target);
    this.stub.calendars.channels.reach = reach;
    this.stub.pubsub.reach = reach;
  }

  signIn(email: string): void {
    this.stub.oauth.consent = { email };
  }

  async stop(): Promise<void> {
    await this.stub.stop();
    expectDocumented(this.stub);
  }

  #user(email: string) {
    const user = this.stub.world.users.get(email);
    if (!user) throw new Error(`The stub has no user ${email}.`);
    return user;
  }

  #shown(email: string, { headers, labels, threadId }: MailMessage): MessageAtCompany {
    const all = this.#user(email).mailbox.labels;
    return {
      subject: headerValue(headers, 'subject') ?? '',
      places: [...labels].flatMap((id) =>
        all.get(id).type === 'user' ? all.get(id).name : (PLACES[id] ?? []),
      ),
      isRead: !labels.has('UNREAD'),
      isStarred: labels.has('STARRED'),
      thread: threadId,
    };
  }
}

export const google: Company<GoogleCompanyStub> & { provider: 'google' } = {
  provider: 'google',
  title: 'Google',
  accountProvider: 'gmail',
  organizationUnit: 'label',
  domain: 'gmail.test',
  start: async (now?: () => number) => {
    const stub = await GoogleStub.start(now ? { now } : {});
    stub.habits.worst();
    return new GoogleCompanyStub(stub);
  },
};
