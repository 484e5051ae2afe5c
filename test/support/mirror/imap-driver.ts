import type { ImapFlow } from 'imapflow';
import { createAccount } from '../factories.ts';
import { headersOf, headerValue, parsedMime } from '../google/gmail/mime.ts';
import { ImapProxy } from '../imap-proxy.ts';
import { MailServers, type MailUser } from '../mail-servers/mail-servers.ts';
import {
  type FiledMail,
  type HeldFolder,
  type HeldMessage,
  type MailboxDriver,
  markIn,
  type StandardName,
} from './mailbox-driver.ts';
import type { MirrorWorld } from './mirror-world.ts';

const STANDARD = {
  inbox: 'INBOX',
  sent: 'Sent',
  drafts: 'Drafts',
  trash: 'Trash',
  spam: 'Junk',
  archive: 'Archive',
};
const STATUS = { messages: true, uidNext: true, uidValidity: true, highestModseq: true };

/** What never changes about a message. */
type Content = Pick<HeldMessage, 'subject' | 'mark'>;

/** The messages of a folder, while its status stays the same. */
interface KnownFolder {
  status: string;
  messages: [string, HeldMessage][];
}

/** A mailbox on a real server (Dovecot), changed by another mail program. */
export class ImapDriver implements MailboxDriver {
  readonly provider = 'imap';
  readonly unit = 'folders';
  readonly email: string;
  readonly correspondent: string;
  readonly #contents = new Map<string, Content>();
  readonly #folders = new Map<string, KnownFolder>();

  private constructor(
    private readonly servers: MailServers,
    private readonly user: MailUser,
    other: MailUser,
    private client: ImapFlow,
    private readonly proxy: ImapProxy,
  ) {
    this.email = user.email;
    this.correspondent = other.email;
  }

  static async start(): Promise<ImapDriver> {
    const servers = await MailServers.start();
    const user = await servers.addUser();
    const other = await servers.addUser();
    const proxy = await ImapProxy.start(servers.dovecot.ports.imap);
    return new ImapDriver(servers, user, other, await servers.client(user), proxy);
  }

  async connect({ server, application }: MirrorWorld) {
    const { email } = this.user;
    const settings = { ...this.servers.settingsOf(this.user, { imap_port: this.proxy.port }) };
    return createAccount(server.app, application, { provider: 'imap', email, settings });
  }

  /** Takes the commands that the program has sent since the last call. */
  takeCommands(): string[] {
    return this.proxy.commands.splice(0);
  }

  /** The server numbers the messages of some folders anew, as after a restoration. */
  async renumber(...paths: readonly string[]): Promise<void> {
    this.client.close();
    for (const path of paths) await this.servers.dovecot.renumber(this.email, path);
    this.client = await this.servers.client(this.user);
  }

  /** The directory of a folder, to which a test may add files of messages. */
  directoryOf(path: string): string {
    return this.servers.dovecot.directoryOf(this.email, path);
  }

  async messages(): Promise<Map<string, HeldMessage>> {
    const held: [string, HeldMessage][] = [];
    for (const { path, status } of await this.#list()) {
      const { messages, uidNext, uidValidity, highestModseq } = status;
      const now = [uidValidity, uidNext, messages, highestModseq].join(' ');
      const known = this.#folders.get(path);
      if (known?.status !== now)
        this.#folders.set(path, { status: now, messages: await this.#read(path) });
      held.push(...(this.#folders.get(path)?.messages ?? []));
    }
    return new Map(held);
  }

  async #read(path: string): Promise<[string, HeldMessage][]> {
    const { exists, uidValidity } = await this.client.mailboxOpen(path, { readOnly: true });
    if (exists === 0) return [];
    const found = await this.client.fetchAll('1:*', { uid: true, flags: true });
    const ids = new Map(found.map(({ uid }) => [uid, `${path};${uidValidity};${uid}`]));
    const unread = [...ids].flatMap(([uid, id]) => (this.#contents.has(id) ? [] : [uid]));
    const sources =
      unread.length === 0
        ? []
        : await this.client.fetchAll(unread.join(','), { uid: true, source: true }, { uid: true });
    for (const { uid, source } of sources)
      this.#contents.set(ids.get(uid) ?? '', contentOf(source ?? Buffer.alloc(0)));
    return found.map(({ uid, flags }) => {
      const id = ids.get(uid) ?? '';
      const content = this.#contents.get(id) ?? { subject: '', mark: '' };
      return [id, { ...content, ...stateOf(path, flags ?? new Set()) }];
    });
  }

  /** A deleted folder is listed while there are folders inside it, but it has no status. */
  async folders(): Promise<HeldFolder[]> {
    const listed = await this.#list();
    return listed.map(({ path }) => ({ id: path, displayName: path }));
  }

  async #list() {
    // Of the open folder, the server reports the status at opening.
    await this.#leave();
    const listed = await this.client.list({ statusQuery: STATUS });
    return listed.flatMap(({ path, status }) =>
      status && status.uidValidity !== undefined ? [{ path, status }] : [],
    );
  }

  standard(name: StandardName): string {
    return STANDARD[name];
  }

  async ownFolders() {
    const standard = Object.values(STANDARD);
    return (await this.folders()).map(({ id }) => id).filter((id) => !standard.includes(id));
  }

  async put({ mime, at, folders = ['INBOX'], read = false, draft = false }: FiledMail) {
    const path = draft ? STANDARD.drafts : folders[0]!;
    const flags = draft ? ['\\Draft', '\\Seen'] : read ? ['\\Seen'] : [];
    const filed = await this.client.append(path, mime, flags, at);
    if (!filed || filed.uid === undefined) throw new Error(`${path} takes no message`);
    return `${path};${filed.uidValidity};${filed.uid}`;
  }

  async setFlags(id: string, { unread, starred }: { unread?: boolean; starred?: boolean }) {
    const uid = await this.#open(id);
    const set = (flag: string, isOn: boolean) =>
      isOn
        ? this.client.messageFlagsAdd(uid, [flag], { uid: true })
        : this.client.messageFlagsRemove(uid, [flag], { uid: true });
    if (unread !== undefined) await set('\\Seen', !unread);
    if (starred !== undefined) await set('\\Flagged', starred);
  }

  async move(id: string, folderId: string) {
    if (id.startsWith(`${folderId};`)) return;
    await this.client.messageMove(await this.#open(id), folderId, { uid: true });
  }

  async remove(id: string) {
    await this.client.messageDelete(await this.#open(id), { uid: true });
  }

  /** Another version has another UID. */
  async editDraft(id: string, mime: string) {
    await this.put({ mime, draft: true });
    await this.remove(id);
  }

  async createFolder(path: string) {
    await this.client.mailboxCreate(path);
    return path;
  }

  async renameFolder(id: string, path: string) {
    await this.#leave();
    await this.client.mailboxRename(id, path);
  }

  async deleteFolder(id: string) {
    await this.#leave();
    await this.client.mailboxDelete(id);
  }

  /** The server compares the mailbox with what the cursor says; it keeps no changes. */
  forgetChanges() {}

  refusals(): number {
    return 0;
  }

  async stop() {
    await this.client.logout();
    await this.proxy.stop();
    await this.servers.stop();
  }

  /** Opens the folder of a message. @returns its UID */
  async #open(id: string): Promise<string> {
    const [path = '', , uid = ''] = id.split(';');
    await this.client.mailboxOpen(path);
    return uid;
  }

  async #leave(): Promise<void> {
    if (this.client.mailbox) await this.client.mailboxClose();
  }
}

function stateOf(path: string, flags: ReadonlySet<string>) {
  return {
    folders: [path],
    unread: !flags.has('\\Seen'),
    starred: flags.has('\\Flagged'),
    draft: path === STANDARD.drafts,
    thread: null,
  };
}

function contentOf(source: Buffer): Content {
  const texts = (part: ReturnType<typeof parsedMime>): string[] => [
    part.content.toString(),
    ...part.parts.flatMap(texts),
  ];
  const mark = markIn(texts(parsedMime(source)).join('\n'));
  return { subject: headerValue(headersOf(source), 'subject') ?? '', mark };
}
