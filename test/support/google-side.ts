import { addressesIn, headerValue } from './google/gmail/mime.ts';
import type { MailMessage } from './google/gmail/mailbox.ts';
import { notFound } from './google/errors.ts';
import { GoogleStub } from './google/google-stub.ts';
import type { GoogleUser } from './google/google-user.ts';
import { scope } from './google/scopes.ts';
import { mime } from './google/stub-client.ts';
import { type RemoteSide, type SeenMailbox, sorted } from './remote-side.ts';
import type { StubAnswer, StubRequest } from './remote-stub/messages.ts';
import type { AcceptedMessage } from './smtp-sink-protocol.ts';

const SCOPES = [
  'openid',
  'email',
  'profile',
  ...['gmail.modify', 'calendar', 'contacts'].map(scope),
];
const NAMES: Readonly<Record<string, string>> = {
  INBOX: 'Inbox',
  SENT: 'Sent',
  DRAFT: 'Drafts',
  TRASH: 'Trash',
  SPAM: 'Spam',
};

const tooMany = (status: 403 | 429, reason: string, headers: Record<string, string> = {}) => ({
  status,
  headers,
  body: {
    error: { code: status, message: 'Too many', errors: [{ domain: 'usageLimits', reason }] },
  },
});

/** Google's stub, with Google's quotas. */
export class GoogleSide implements RemoteSide {
  readonly provider = 'google';
  readonly tooMany: readonly StubAnswer[] = [
    tooMany(429, 'rateLimitExceeded', { 'retry-after': '1' }),
    tooMany(429, 'rateLimitExceeded'),
    tooMany(403, 'userRateLimitExceeded'),
  ];

  readonly notFound = notFound().answer();

  private constructor(readonly stub: GoogleStub) {}

  static async start(): Promise<GoogleSide> {
    return new GoogleSide(await GoogleStub.start());
  }

  get environment() {
    // Less than Google allows: a request that is held up takes longer than the budget knows.
    return { GOOGLE_URL: this.stub.origin, GMAIL_UNITS_PER_ACCOUNT: '4800' };
  }

  get integration() {
    const { id: client_id, secret: client_secret } = this.stub.oauth.client;
    return { client_id, client_secret };
  }

  addUser(email: string) {
    this.stub.addUser(email);
    return { google_refresh_token: this.stub.oauth.refreshTokenFor(email, SCOPES) };
  }

  async deliver(email: string, subject: string) {
    this.stub.deliver(mime({ From: 'bo@x.test', To: email, Subject: subject }), [email]);
  }

  isSend({ method, path }: StubRequest) {
    return method === 'POST' && path.endsWith('/messages/send');
  }

  isContent({ method, path, query }: StubRequest) {
    return (
      method === 'GET' &&
      /\/messages\/[^/]+$/.test(path) &&
      ['full', 'raw'].includes(query.get('format') ?? '')
    );
  }

  isToken({ path }: StubRequest) {
    return path === '/token';
  }

  accepted(): AcceptedMessage[] {
    const sent = ({ email, mailbox }: GoogleUser) =>
      mailbox.messages().flatMap((message): AcceptedMessage[] => {
        if (!message.labels.has('SENT')) return [];
        const recipients = ['to', 'cc', 'bcc'].flatMap((name) => addressesIn(value(message, name)));
        return [
          {
            messageId: this.messageIdAsSent(value(message, 'message-id')),
            from: email,
            recipients,
            subject: value(message, 'subject'),
            at: message.date,
          },
        ];
      });
    return [...this.stub.world.users.values()].flatMap(sent);
  }

  received(email: string, messageId: string): number {
    const isCopy = (one: MailMessage) =>
      this.messageIdAsSent(value(one, 'message-id')) === messageId && one.labels.has('INBOX');
    return this.#user(email).mailbox.messages().filter(isCopy).length;
  }

  messageIdAsSent(id: string): string {
    return this.stub.world.replacedIds.get(id) ?? id;
  }

  seen(email: string): SeenMailbox {
    const { mailbox, contacts } = this.#user(email);
    const all = mailbox.messages();
    const own = mailbox.labels.all().filter(({ type }) => type === 'user');
    const names = new Map(own.map(({ id, name }) => [id, name]));
    const isDraft = ({ labels }: MailMessage) => labels.has('DRAFT');
    const calendars = this.#calendars(email);
    return {
      messages: sorted(all.filter((one) => !isDraft(one)).map((one) => seenMessage(one, names))),
      drafts: sorted(all.filter(isDraft).map((one) => value(one, 'subject'))),
      folders: sorted(names.values()),
      calendars: sorted(
        calendars.flatMap(({ id, settings }) => (id === email ? [] : [settings.summary])),
      ),
      events: sorted(
        calendars
          .flatMap(({ events }) => [...events.values()])
          .flatMap(({ event: { status, summary, recurringEventId } }) =>
            status === 'cancelled' || recurringEventId !== undefined ? [] : [String(summary)],
          ),
      ),
      contacts: sorted(
        [...contacts.people.values()]
          .filter(({ isDeleted }) => !isDeleted)
          .map(({ fields }) => nameIn(fields['names'])),
      ),
    };
  }

  meetingMails(): string[] {
    return sorted(this.stub.calendars.mails.map(({ kind, summary }) => `${kind} ${summary}`));
  }

  overQuota(email: string): string[] {
    return Object.entries(this.stub.quotas.perUser).flatMap(([service, quota]) => {
      const { limit } = quota;
      const isOver = quota.refusals(email) > 0 || quota.highest(email) > limit.units;
      return isOver ? [`${service}: ${quota.highest(email)} of ${limit.units}`] : [];
    });
  }

  expireCursors() {
    for (const { mailbox, contacts } of this.stub.world.users.values()) {
      mailbox.history.expire();
      contacts.expireSyncTokens();
    }
    for (const calendar of this.stub.calendars.all.values()) calendar.expireSyncTokens();
  }

  expireTokens() {
    this.stub.oauth.grants.expire();
  }

  revoke(email: string) {
    this.stub.oauth.grants.revokeAll(email);
  }

  #user(email: string): GoogleUser {
    const user = this.stub.world.users.get(email);
    if (!user) throw new Error(`The stub has no user ${email}.`);
    return user;
  }

  #calendars(email: string) {
    return [...this.stub.calendars.all.values()].filter(
      ({ access }) => access.get(email) === 'owner',
    );
  }
}

const value = ({ headers }: MailMessage, name: string): string => headerValue(headers, name) ?? '';

function seenMessage(message: MailMessage, names: ReadonlyMap<string, string>) {
  const { labels } = message;
  const shown = [...labels].flatMap((id) => NAMES[id] ?? names.get(id) ?? []);
  const isAway = labels.has('TRASH') || labels.has('SPAM');
  return {
    subject: value(message, 'subject'),
    unread: labels.has('UNREAD'),
    starred: labels.has('STARRED'),
    folders: sorted(isAway ? shown : [...shown, 'All Mail']),
  };
}

function nameIn(names: unknown): string {
  const [name] = names as { givenName?: string; familyName?: string }[];
  return [name?.givenName, name?.familyName].filter(Boolean).join(' ');
}
