import type { StubUser } from './microsoft/directory/directory.ts';
import type { StoredMessage } from './microsoft/mail/message.ts';
import { MicrosoftStub } from './microsoft/microsoft-stub.ts';
import { EVERY_DAY, type StubSettings } from './microsoft/settings.ts';
import { type RemoteSide, type SeenMailbox, sorted } from './remote-side.ts';
import type { StubAnswer, StubRequest } from './remote-stub/messages.ts';
import type { AcceptedMessage } from './smtp-sink-protocol.ts';

const SCOPES = [
  'openid',
  'email',
  'profile',
  'offline_access',
  'User.Read',
  'Mail.ReadWrite',
  'Mail.Send',
  'Calendars.ReadWrite',
  'Contacts.ReadWrite',
];

const tooMany = (code: string, headers: Record<string, string> = {}) => ({
  status: 429,
  headers,
  body: { error: { code, message: 'Too many' } },
});

/** Microsoft's stub, with Microsoft's quotas. */
export class MicrosoftSide implements RemoteSide {
  readonly provider = 'microsoft';
  readonly tooMany: readonly StubAnswer[] = [
    tooMany('TooManyRequests', { 'retry-after': '1' }),
    tooMany('ApplicationThrottled'),
    tooMany('MailboxConcurrency'),
  ];

  readonly notFound = {
    status: 404,
    body: { error: { code: 'ErrorItemNotFound', message: 'Not found.' } },
  };

  private constructor(readonly stub: MicrosoftStub) {}

  /** @param manner how unpleasant the stub is */
  static async start(manner: Partial<StubSettings> = EVERY_DAY): Promise<MicrosoftSide> {
    const settings = {
      ...manner,
      // Each process limits itself to four; two processes are not coordinated.
      concurrentRequests: 100,
      requiresImmutableIds: true,
    };
    return new MicrosoftSide(await MicrosoftStub.start({ settings }));
  }

  get environment() {
    const { origin } = this.stub;
    // Less than Microsoft allows: a request that is held up takes longer than the budget knows.
    const most = {
      GRAPH_REQUESTS_PER_ACCOUNT: '8000',
      GRAPH_MESSAGES_PER_ACCOUNT: '24',
    };
    return { MICROSOFT_LOGIN_URL: origin, MICROSOFT_GRAPH_URL: origin, ...most };
  }

  readonly integration = { client_id: 'app', client_secret: 'app-secret' };

  addUser(email: string) {
    this.stub.addUser(email);
    return { microsoft_refresh_token: this.stub.tokensFor(email, SCOPES).refreshToken };
  }

  async deliver(email: string, subject: string) {
    const text = `From: bo@x.test\r\nTo: ${email}\r\nSubject: ${subject}\r\n\r\nHello\r\n`;
    await this.stub.put(email, text);
  }

  isSend({ method, path }: StubRequest) {
    return method === 'POST' && (path.endsWith('/sendMail') || path.endsWith('/send'));
  }

  isContent({ method, path }: StubRequest) {
    return method === 'GET' && path.endsWith('/$value');
  }

  isToken({ path }: StubRequest) {
    return path.endsWith('/oauth2/v2.0/token');
  }

  accepted(): AcceptedMessage[] {
    return this.stub.world.sent.map(({ internetMessageId, sender, to, cc, bcc, subject }) => ({
      messageId: this.messageIdAsSent(internetMessageId),
      from: sender,
      recipients: [...to, ...cc, ...bcc].map((address) => address.toLowerCase()),
      subject,
      at: 0,
    }));
  }

  received(email: string, messageId: string): number {
    const { mailbox } = this.stub.user(email);
    const inbox = mailbox.messagesIn(mailbox.folderId('inbox')).values();
    return [...inbox].filter((one) => this.messageIdAsSent(one.internetMessageId) === messageId)
      .length;
  }

  messageIdAsSent(id: string): string {
    return this.stub.world.replacedIds.get(id) ?? id;
  }

  seen(email: string): SeenMailbox {
    const user = this.stub.user(email);
    const { mailbox, calendars, contacts } = user;
    const hidden = mailbox.folderId('recoverableitemsdeletions');
    const all = [...mailbox.messages()].filter(({ folderId }) => folderId !== hidden);
    const isDraft = ({ isDraft, folderId }: StoredMessage) =>
      isDraft && folderId === mailbox.folderId('drafts');
    const own = [...mailbox.folders.values()].filter(({ wellKnownName }) => !wellKnownName);
    return {
      messages: sorted(all.filter((one) => !isDraft(one)).map((one) => seenMessage(one, user))),
      drafts: sorted(all.filter(isDraft).map(({ subject }) => subject)),
      folders: sorted(own.map(({ displayName }) => displayName)),
      calendars: sorted(
        [...calendars.calendars.values()].flatMap(({ isDefault, name }) =>
          isDefault ? [] : [name],
        ),
      ),
      events: sorted(calendars.allEvents().map(({ subject }) => subject)),
      contacts: sorted(
        contacts
          .contactsIn(contacts.defaultFolder.id)
          .map(({ fields }) => [fields['givenName'], fields['surname']].filter(Boolean).join(' ')),
      ),
    };
  }

  meetingMails(): string[] {
    return sorted(
      this.stub.world.meetingMails.map(
        ({ kind, subject }) => `${kind === 'request' ? 'invitation' : kind} ${subject}`,
      ),
    );
  }

  overQuota(email: string): string[] {
    const { mostRequests, mostSends, refusals } = this.stub.world.quotas.useOf(email);
    const { requestsPerWindow, sendsPerMinute } = this.stub.world.settings;
    const isOver = refusals > 0 || mostRequests > requestsPerWindow || mostSends > sendsPerMinute;
    return isOver ? [`${mostRequests} requests, ${mostSends} messages, ${refusals} refused`] : [];
  }

  expireCursors() {
    this.stub.expireDeltaLinks();
  }

  expireTokens() {
    this.stub.world.tokens.expireAccessTokens();
  }

  revoke(email: string) {
    this.stub.revokeSessions(email);
  }
}

function seenMessage(message: StoredMessage, { mailbox }: StubUser) {
  const { subject, isRead, flag, folderId } = message;
  return {
    subject,
    unread: !isRead,
    starred: flag['flagStatus'] === 'flagged',
    folders: [mailbox.folders.get(folderId)?.displayName ?? ''],
  };
}
