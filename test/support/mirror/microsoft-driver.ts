import { MicrosoftStub } from '../microsoft/microsoft-stub.ts';
import { EVERY_DAY, type StubSettings } from '../microsoft/settings.ts';
import type { MailFolder } from '../microsoft/mail/folders.ts';
import { readMime, writeMime } from '../microsoft/mail/mime.ts';
import type { StoredMessage } from '../microsoft/mail/message.ts';
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

const EMAIL = 'ann@contoso.test';
const SCOPES = [
  'openid',
  'email',
  'profile',
  'offline_access',
  'User.Read',
  'Mail.ReadWrite',
  'Mail.Send',
];
const STANDARD = {
  inbox: 'inbox',
  sent: 'sentitems',
  drafts: 'drafts',
  trash: 'deleteditems',
  spam: 'junkemail',
};
/** Folders that clients do not see. */
const HIDDEN = ['outbox', 'conversationhistory', 'recoverableitemsdeletions'];

/** A mailbox at the stub of Microsoft, with the limits that Microsoft publishes. */
export class MicrosoftDriver implements MailboxDriver {
  readonly provider = 'microsoft';
  readonly unit = 'folders';
  readonly email = EMAIL;
  readonly correspondent = 'bo@elsewhere.test';

  private constructor(
    readonly stub: MicrosoftStub,
    private readonly more: readonly string[],
  ) {}

  /**
   * @param more permissions besides those for mail
   * @param manner how unpleasant the stub is
   */
  static async start(
    more: readonly string[] = [],
    manner: Partial<StubSettings> = EVERY_DAY,
  ): Promise<MicrosoftDriver> {
    const stub = await MicrosoftStub.start({
      settings: { ...manner, requiresImmutableIds: true },
    });
    stub.addUser(EMAIL, { displayName: 'Ann' });
    return new MicrosoftDriver(stub, more);
  }

  get mailbox() {
    return this.stub.user(EMAIL).mailbox;
  }

  async connect(world: MirrorWorld) {
    return world.connect(
      { client_id: 'app', client_secret: 'app-secret' },
      {
        microsoft_refresh_token: this.stub.tokensFor(EMAIL, [...SCOPES, ...this.more]).refreshToken,
      },
    );
  }

  async messages(): Promise<Map<string, HeldMessage>> {
    const shown = new Set((await this.folders()).map(({ id }) => id));
    const held = new Map<string, HeldMessage>();
    for (const message of this.mailbox.messages())
      if (shown.has(message.folderId)) held.set(message.immutableId, await heldOf(message));
    return held;
  }

  async folders(): Promise<HeldFolder[]> {
    return [...this.mailbox.folders.values()].flatMap((folder): HeldFolder[] => {
      const path = this.#pathOf(folder);
      return path === null ? [] : [{ id: folder.id, displayName: path }];
    });
  }

  standard(name: StandardName): string {
    return this.mailbox.folderId(STANDARD[name]);
  }

  async ownFolders() {
    const all = [...this.mailbox.folders.values()];
    return all.filter(({ wellKnownName }) => wellKnownName === null).map(({ id }) => id);
  }

  async put({ mime, at, folders = [this.standard('inbox')], read, draft }: FiledMail) {
    const { now } = this.stub;
    // What was received earlier was also created earlier.
    if (at) this.stub.now = () => at.getTime();
    const folder = draft ? this.standard('drafts') : folders[0]!;
    const state = { folder, isRead: read ?? draft ?? false, isDraft: draft ?? false };
    const message = await this.stub.put(EMAIL, mime, { ...state, ...(at && { received: at }) });
    this.stub.now = now;
    return message.immutableId;
  }

  async setFlags(id: string, { unread, starred }: { unread?: boolean; starred?: boolean }) {
    const message = this.#message(id);
    if (unread !== undefined) this.mailbox.update(message, { isRead: !unread });
    if (starred !== undefined)
      this.mailbox.update(message, { flag: { flagStatus: starred ? 'flagged' : 'notFlagged' } });
  }

  async move(id: string, folderId: string) {
    const message = this.#message(id);
    if (message.folderId !== folderId) this.mailbox.move(message, folderId);
  }

  /** As Outlook does it: the message can be recovered for some days. */
  async remove(id: string) {
    this.mailbox.move(this.#message(id), this.mailbox.folderId('recoverableitemsdeletions'));
  }

  async editDraft(id: string, mime: string) {
    const { subject, body, headers } = await readMime(Buffer.from(mime), this.mailbox.now());
    this.mailbox.update(this.#message(id), { subject, body, headers, mime: null });
  }

  async createFolder(path: string) {
    const { parentId, name } = this.#placeOf(path);
    return this.mailbox.createFolder(name, parentId).id;
  }

  async renameFolder(id: string, path: string) {
    const { parentId, name } = this.#placeOf(path);
    this.mailbox.updateFolder(this.#folder(id), { displayName: name, parentId });
  }

  /** Moves the folder with all that is in it to Deleted Items, or deletes it there for good. */
  async deleteFolder(id: string) {
    const folder = this.#folder(id);
    const trash = this.standard('trash');
    if (this.#isBelow(folder, trash)) this.mailbox.deleteFolder(folder);
    else
      this.mailbox.updateFolder(folder, {
        parentId: trash,
        displayName: this.#freeName(trash, folder.displayName),
      });
  }

  async putHidden(mime: string) {
    const folder = this.mailbox.folderId('conversationhistory');
    await this.stub.put(EMAIL, mime, { folder, isRead: false, isDraft: false });
  }

  forgetChanges() {
    this.stub.expireDeltaLinks();
  }

  failOn(ids: readonly string[]) {
    const { faults } = this.stub;
    faults.clear();
    const match = ({ path }: { path: string }) =>
      ids.some((id) => decodeURIComponent(path).includes(`/messages/${id}`));
    if (ids.length > 0) faults.add({ match, times: Infinity, answer: 'drop' });
  }

  refusals(): number {
    return this.stub.world.quotas.useOf(EMAIL).refusals;
  }

  async stop() {
    await this.stub.stop();
    expectDocumented(this.stub);
  }

  #message(id: string): StoredMessage {
    const message = this.mailbox.message(id);
    if (!message) throw new Error(`no message ${id}`);
    return message;
  }

  #folder(id: string): MailFolder {
    const folder = this.mailbox.folder(id);
    if (!folder) throw new Error(`no folder ${id}`);
    return folder;
  }

  /** @returns `null` for a folder that clients do not see */
  #pathOf(folder: MailFolder): string | null {
    const names: string[] = [];
    let at = this.mailbox.folders.get(folder.id);
    for (; at && at.parentId !== ''; at = this.mailbox.folders.get(at.parentId)) {
      if (at.isHidden || HIDDEN.includes(at.wellKnownName ?? '')) return null;
      names.unshift(at.displayName);
    }
    return names.length === 0 ? null : names.join('/');
  }

  #placeOf(path: string): { parentId: string; name: string } {
    const levels = path.split('/');
    const name = levels.pop() ?? '';
    let parentId = this.mailbox.folderId('msgfolderroot');
    for (const level of levels) {
      const found = this.mailbox
        .childFolders(parentId)
        .find(({ displayName }) => displayName === level);
      parentId = (found ?? this.mailbox.createFolder(level, parentId)).id;
    }
    return { parentId, name };
  }

  #freeName(parentId: string, wanted: string): string {
    const taken = this.mailbox.childFolders(parentId).map(({ displayName }) => displayName);
    let name = wanted;
    for (let n = 1; taken.includes(name); n += 1) name = `${wanted} (${n})`;
    return name;
  }

  #isBelow(folder: MailFolder, above: string): boolean {
    let at: MailFolder | undefined = folder;
    while (at && at.id !== above) at = this.mailbox.folders.get(at.parentId);
    return at !== undefined;
  }
}

async function heldOf(message: StoredMessage): Promise<HeldMessage> {
  const { text = '', html = '' } = await textOf(message);
  return {
    folders: [message.folderId],
    unread: !message.isRead,
    starred: message.flag['flagStatus'] === 'flagged',
    draft: message.isDraft,
    subject: message.subject,
    mark: markIn(text) || markIn(html),
    thread: message.conversationId,
  };
}

async function textOf(message: StoredMessage): Promise<{ text?: string; html?: string }> {
  const { body } = await readMime(await writeMime(message), message.received);
  return { text: body.content };
}
