import { GraphClient } from '../microsoft/graph-client.ts';
import { MicrosoftStub } from '../microsoft/microsoft-stub.ts';
import { UNPLEASANT_AT_ONCE } from '../microsoft/settings.ts';
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
const PERMISSIONS: Readonly<Record<Right, readonly string[]>> = {
  'read mail': ['Mail.Read'],
  mail: ['Mail.ReadWrite', 'Mail.Send'],
  calendar: ['Calendars.ReadWrite'],
  contacts: ['Contacts.ReadWrite'],
};
const PLACES: Readonly<Record<string, string>> = { sentitems: 'sent', deleteditems: 'trash' };
const KINDS = {
  request: 'invitation',
  update: 'update',
  cancellation: 'cancellation',
  response: 'reply',
} as const;

export class MicrosoftCompanyStub implements CompanyStub {
  readonly client = { client_id: 'app', client_secret: 'app-secret' };
  readonly environment;
  readonly tokenPath = '/common/oauth2/v2.0/token';

  constructor(readonly stub: MicrosoftStub) {
    this.environment = { MICROSOFT_LOGIN_URL: stub.origin, MICROSOFT_GRAPH_URL: stub.origin };
  }

  addUser(email: string, displayName: string): void {
    this.stub.addUser(email, { displayName });
  }

  async deliver(email: string, mime: string): Promise<void> {
    await this.stub.put(email, mime);
  }

  messages(email: string): MessageAtCompany[] {
    const { mailbox } = this.stub.user(email);
    const deleted = mailbox.folderId('recoverableitemsdeletions');
    const kept = [...mailbox.messages()].filter(({ folderId }) => folderId !== deleted);
    return kept.map((message) => {
      const folder = mailbox.folders.get(message.folderId);
      const place = folder?.wellKnownName ?? folder?.displayName ?? '';
      return {
        subject: message.subject,
        places: [PLACES[place] ?? place],
        isRead: message.isRead,
        isStarred: message.flag['flagStatus'] === 'flagged',
        thread: message.conversationId,
      };
    });
  }

  ownFolders(email: string): string[] {
    const folders = [...this.stub.user(email).mailbox.folders.values()];
    return folders
      .filter(({ wellKnownName, isHidden }) => wellKnownName === null && !isHidden)
      .map(({ displayName }) => displayName);
  }

  sent(): SentAtCompany[] {
    return this.stub.world.sent.map(({ subject, outside, mime }) => {
      return { subject, outside, mime: mime.toString() };
    });
  }

  events(email: string) {
    return this.stub
      .user(email)
      .calendars.allEvents()
      .map(({ subject, attendees }) => ({
        title: subject,
        participants: attendees.map(({ address }) => address),
      }));
  }

  eventMails(): EventMail[] {
    return this.stub.world.meetingMails.flatMap(({ kind, to }) =>
      to.map((address) => ({ kind: KINDS[kind], to: address })),
    );
  }

  contacts(email: string): number {
    const { contacts } = this.stub.user(email);
    return [...contacts.contactsIn(contacts.defaultFolder.id)].length;
  }

  refreshToken(email: string, rights: readonly Right[]): string {
    const permissions = rights.flatMap((right) => PERMISSIONS[right]);
    const identity = ['openid', 'email', 'profile', 'offline_access', 'User.Read'];
    return this.stub.tokensFor(email, [...identity, ...permissions]).refreshToken;
  }

  async plan(email: string, subject: string): Promise<void> {
    const [start, end] = [DAY_MS, DAY_MS + HOUR_MS].map((ms) => ({
      dateTime: new Date(this.stub.now() + ms).toISOString().slice(0, 19),
      timeZone: 'UTC',
    }));
    const { accessToken } = this.stub.tokensFor(email, ['Calendars.ReadWrite']);
    const client = new GraphClient(this.stub, accessToken);
    const { status } = await client.send('POST', 'me/events', { subject, start, end });
    expect(status).toBe(201);
  }

  reportsUntil(email: string) {
    const own = this.stub.world.subscriptions.all.filter(({ user }) => user.email === email);
    const of = (kind: string) =>
      own.flatMap(({ watched, expires }) => (watched.kind === kind ? [expires] : []));
    return { mail: of('messages'), calendars: of('events') };
  }

  redirect(address: string, target: string): void {
    this.stub.world.subscriptions.reach = (url) => url.replace(address, target);
  }

  signIn(email: string): void {
    this.stub.settings.signInAs = email;
  }

  async stop(): Promise<void> {
    await this.stub.stop();
    expectDocumented(this.stub);
  }
}

export const microsoft: Company<MicrosoftCompanyStub> & { provider: 'microsoft' } = {
  provider: 'microsoft',
  title: 'Microsoft',
  accountProvider: 'office365',
  organizationUnit: 'folder',
  domain: 'contoso.test',
  start: async (now?: () => number) =>
    new MicrosoftCompanyStub(
      await MicrosoftStub.start({
        settings: { ...UNPLEASANT_AT_ONCE, requiresImmutableIds: true },
        ...(now && { now }),
      }),
    ),
};
