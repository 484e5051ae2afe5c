import { GoogleStub } from '../google/google-stub.ts';
import type { MailMessage } from '../google/gmail/mailbox.ts';
import { headersOf, headerValue, parsedMime } from '../google/gmail/mime.ts';
import type { GoogleUser } from '../google/google-user.ts';
import { scope } from '../google/scopes.ts';
import { expectDocumented } from '../remote-stub/remote-stub.ts';
import {
  type FiledMail,
  type HeldFolder,
  type HeldMessage,
  type MailboxDriver,
  markIn,
  type StandardName,
} from './mailbox-driver.ts';
import type { MirrorWorld } from './mirror-world.ts';

const EMAIL = 'ann@gmail.test';
/** Labels that Gmail has and clients do not see. */
const HIDDEN = ['UNREAD', 'STARRED', 'IMPORTANT', 'CHAT', 'CATEGORY_PERSONAL'];
const NAMES: Record<string, string> = {
  INBOX: 'Inbox',
  SENT: 'Sent',
  DRAFT: 'Drafts',
  TRASH: 'Trash',
  SPAM: 'Spam',
  CATEGORY_SOCIAL: 'Social',
  CATEGORY_PROMOTIONS: 'Promotions',
  CATEGORY_UPDATES: 'Updates',
  CATEGORY_FORUMS: 'Forums',
};
const STANDARD = { inbox: 'INBOX', sent: 'SENT', drafts: 'DRAFT', trash: 'TRASH', spam: 'SPAM' };
const ALL = 'ALL';

/** A mailbox at the stub of Google, with the quotas that Google publishes. */
export class GoogleDriver implements MailboxDriver {
  readonly provider = 'google';
  readonly unit = 'labels';
  readonly email = EMAIL;
  readonly correspondent = 'bo@elsewhere.test';

  private constructor(
    readonly stub: GoogleStub,
    readonly user: GoogleUser,
  ) {}

  static async start(): Promise<GoogleDriver> {
    const stub = await GoogleStub.start();
    return new GoogleDriver(stub, stub.addUser(EMAIL, 'Ann'));
  }

  get #mailbox() {
    return this.user.mailbox;
  }

  async connect(world: MirrorWorld) {
    const { id: client_id, secret: client_secret } = this.stub.oauth.client;
    const scopes = ['openid', 'email', 'profile', scope('gmail.modify')];
    return world.connect(
      { client_id, client_secret },
      { google_refresh_token: this.stub.oauth.refreshTokenFor(EMAIL, scopes) },
    );
  }

  async messages(): Promise<Map<string, HeldMessage>> {
    const mail = this.#mailbox.messages().filter(({ labels }) => !labels.has('CHAT'));
    return new Map(mail.map((message) => [message.id, heldOf(message)]));
  }

  async folders(): Promise<HeldFolder[]> {
    const shown = this.#mailbox.labels.all().filter(({ id }) => !HIDDEN.includes(id));
    const labels = shown.map(({ id, name }) => ({ id, displayName: NAMES[id] ?? name }));
    return [...labels, { id: ALL, displayName: 'All Mail' }];
  }

  standard(name: StandardName): string {
    return STANDARD[name];
  }

  async ownFolders() {
    const own = this.#mailbox.labels.all().filter(({ type }) => type === 'user');
    return own.map(({ id }) => id);
  }

  async put({ mime, at, folders = ['INBOX'], read = false, draft = false }: FiledMail) {
    const labels = [
      ...folders,
      ...(read || draft ? [] : ['UNREAD', 'IMPORTANT', 'CATEGORY_PERSONAL']),
    ];
    const message = this.#mailbox.add({
      raw: Buffer.from(mime),
      labels: draft ? ['DRAFT'] : labels,
      ...(at && { date: at.getTime() }),
    });
    if (draft) this.#mailbox.addDraft(message);
    return message.id;
  }

  async setFlags(id: string, { unread, starred }: { unread?: boolean; starred?: boolean }) {
    if (unread !== undefined) await this.label(id, 'UNREAD', unread);
    if (starred !== undefined) await this.label(id, 'STARRED', starred);
  }

  async move(id: string, folderId: string) {
    const message = this.#mailbox.get(id);
    const places = [...message.labels].filter(
      (label) =>
        label === 'INBOX' || label === 'TRASH' || label === 'SPAM' || label.startsWith('Label_'),
    );
    this.#mailbox.relabel(
      message,
      [folderId],
      places.filter((label) => label !== folderId),
    );
  }

  async label(id: string, labelId: string, isOn: boolean) {
    const change = [labelId];
    this.#mailbox.relabel(this.#mailbox.get(id), isOn ? change : [], isOn ? [] : change);
  }

  async remove(id: string) {
    this.#mailbox.remove(this.#mailbox.get(id));
  }

  /** A draft keeps its id, but its message gets a new one. */
  async editDraft(id: string, mime: string) {
    const [draft] = [...this.#mailbox.drafts].find(([, messageId]) => messageId === id) ?? [];
    if (draft === undefined) throw new Error(`${id} is no draft`);
    this.#mailbox.remove(this.#mailbox.get(id));
    const message = this.#mailbox.add({ raw: Buffer.from(mime), labels: ['DRAFT'] });
    this.#mailbox.drafts.set(draft, message.id);
  }

  async createFolder(path: string) {
    return this.#mailbox.labels.create({ name: path }).id;
  }

  /** As on Gmail's pages, which rename the labels below a label, too. */
  async renameFolder(id: string, path: string) {
    const { labels } = this.#mailbox;
    const { name: before } = labels.get(id);
    for (const { id: each, name } of labels.all())
      if (name === before || name.startsWith(`${before}/`))
        labels.change(each, { name: path + name.slice(before.length) });
  }

  async deleteFolder(id: string) {
    this.#mailbox.removeLabel(id);
  }

  async putHidden(mime: string) {
    this.#mailbox.add({ raw: Buffer.from(mime), labels: ['CHAT'] });
  }

  forgetChanges() {
    this.#mailbox.history.expire();
  }

  failOn(ids: readonly string[]) {
    const { faults } = this.stub;
    faults.clear();
    const match = ({ path }: { path: string }) =>
      ids.some((id) => decodeURIComponent(path).includes(`/messages/${id}`));
    if (ids.length > 0) faults.add({ match, times: Infinity, answer: 'drop' });
  }

  refusals(): number {
    return this.stub.quotas.perUser.gmail.refusals();
  }

  async stop() {
    await this.stub.stop();
    expectDocumented(this.stub);
  }
}

function heldOf({ labels, raw, threadId }: MailMessage): HeldMessage {
  const shown = [...labels].filter((id) => !HIDDEN.includes(id));
  const isAway = labels.has('TRASH') || labels.has('SPAM');
  return {
    folders: (isAway ? shown : [...shown, ALL]).toSorted(),
    unread: labels.has('UNREAD'),
    starred: labels.has('STARRED'),
    draft: labels.has('DRAFT'),
    subject: headerValue(headersOf(raw), 'subject') ?? '',
    mark: markIn(textOf(raw)),
    thread: threadId,
  };
}

/** The text of a message: mail of Carillon itself is encoded and has several parts. */
function textOf(raw: Buffer): string {
  const texts = (part: ReturnType<typeof parsedMime>): string[] => [
    part.content.toString(),
    ...part.parts.flatMap(texts),
  ];
  return texts(parsedMime(raw)).join('\n');
}
