import PostalMime, { type Address } from 'postal-mime';
import { withBcc } from '../../src/formats/mime/with-bcc.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import type {
  Connector,
  DraftContent,
  MailboxPort,
  MailPort,
  OutgoingMessage,
  ProviderAccount,
  ReadMessage,
  RemoteMessage,
  SendControl,
  SyncPassRequest,
} from '../../src/providers/port/connector.ts';
import { magicOf } from '../../src/providers/sandbox/sandbox.magic.ts';
import { stableId } from '../../src/providers/sandbox/sandbox.ids.ts';

/** How a `HeadersConnector` differs from the sandbox, besides where it takes recipients from. */
export interface HeadersOptions {
  /** Replaces the Message-ID of every sent message, as Microsoft Graph does. Default: false. */
  changesMessageIds?: boolean;
}

/**
 * The sandbox as a provider that takes the recipients from the message, and accepts or refuses it
 * as a whole. Its response names the sender's copy. Its threads are messages with the same subject.
 */
export class HeadersConnector {
  /** What the connector was given, in order. */
  readonly sent: OutgoingMessage[] = [];
  readonly drafts: DraftContent[] = [];
  /** Runs after a message was delivered and before the response arrives. */
  beforeAnswer: () => Promise<void> = () => Promise.resolve();

  constructor(
    private readonly sandbox: Connector & { mail: MailPort; mailbox: MailboxPort },
    private readonly options: HeadersOptions = {},
  ) {}

  /** The connector, to be registered in place of the sandbox. */
  get connector(): Connector & { mail: MailPort; mailbox: MailboxPort } {
    const { mail, mailbox } = this.sandbox;
    const readMessages = mail.readMessages?.bind(mail);
    return override(this.sandbox, {
      mail: override(mail, {
        recipientsFrom: 'headers',
        send: (account, message, control) => this.#send(account, message, control),
        findSent: (account, header) => mail.findSent(account, this.#idOf(header)),
        readMessages: async (account, request) => {
          if (!readMessages) throw new Error('the sandbox reads no messages');
          const read = [...(await readMessages(account, request))];
          return new Map(
            await Promise.all(
              read.map(async ([id, one]) => [id, one && (await this.#read(account, one))] as const),
            ),
          );
        },
        listChanges: (account, request) => this.#listChanges(account, request),
      }),
      mailbox: override(mailbox, {
        saveDraft: (account, draft, replaces) => {
          this.drafts.push(draft);
          return mailbox.saveDraft(account, draft, replaces);
        },
      }),
    });
  }

  async #send(account: ProviderAccount, message: OutgoingMessage, control: SendControl) {
    this.sent.push(message);
    const recipients = await recipientsOf(withBcc(message.mime, message.bcc));
    const refused = recipients.find((email) => magicOf(email)?.kind === 'refuse');
    if (refused !== undefined)
      throw new ProviderError('rejected', `400 Invalid recipient ${refused}`, {
        phase: 'envelope',
      });
    const messageIdHeader = this.#idOf(message.messageIdHeader);
    const text = message.mime.toString('latin1');
    const mime = Buffer.from(text.replace(message.messageIdHeader, messageIdHeader), 'latin1');
    const envelope = { from: message.envelope.from, recipients };
    const given = { ...message, messageIdHeader, mime, envelope };
    const receipt = await this.sandbox.mail.send(account, given, control);
    await this.beforeAnswer();
    const providerId = stableId(account, 'message', 'sent', messageIdHeader);
    return { ...receipt, stored: { providerId, threadId: await threadOf(mime) } };
  }

  #idOf(header: string): string {
    return this.options.changesMessageIds ? header.replace(/@.*/, '@changed.test>') : header;
  }

  async #listChanges(account: ProviderAccount, request: SyncPassRequest) {
    const changes = await this.sandbox.mail.listChanges(account, request);
    return { ...changes, messages: await this.#withThreads(account, changes.messages) };
  }

  async #read(account: ProviderAccount, { state, content }: ReadMessage): Promise<ReadMessage> {
    const [threaded] = state ? await this.#withThreads(account, [{ ...state, content }]) : [];
    return { state: state && { ...state, threadId: threaded?.threadId ?? null }, content };
  }

  #withThreads(account: ProviderAccount, messages: readonly RemoteMessage[]) {
    const { mail } = this.sandbox;
    return Promise.all(
      messages.map(async (message) => {
        const { content, providerId } = message;
        const mime = content?.kind === 'mime' ? content.mime : mail.fetchRaw(account, providerId);
        return { ...message, threadId: await threadOf(await mime) };
      }),
    );
  }
}

async function recipientsOf(mime: Buffer): Promise<string[]> {
  const { to = [], cc = [], bcc = [] } = await PostalMime.parse(mime);
  const emails = (address: Address): string[] =>
    address.group ? address.group.flatMap(emails) : [address.address.toLowerCase()];
  return [...new Set([...to, ...cc, ...bcc].flatMap(emails))];
}

/** The thread of a message at this provider. */
async function threadOf(mime: Buffer): Promise<string> {
  const { subject = '' } = await PostalMime.parse(mime);
  return `thread of ${subject.replace(/^(re: *)+/i, '')}`;
}

/** An object like `original`, with other values for some members. */
function override<T extends object>(original: T, members: Partial<T>): T {
  return new Proxy(original, {
    get(target, name) {
      if (name in members) return members[name as keyof T];
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}
