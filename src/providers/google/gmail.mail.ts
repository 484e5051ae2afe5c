import { withBcc } from '../../formats/mime/with-bcc.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type {
  MailPort,
  MessageIdsRequest,
  OutgoingMessage,
  ProviderAccount,
  ReadRequest,
  SendControl,
  SendReceipt,
  SentLookup,
  SyncPassRequest,
} from '../port/connector.ts';
import type { MessageRef } from './gmail-api.ts';
import type { GmailWriter } from './gmail-writer.ts';
import type { GmailAudit } from './gmail-audit.ts';
import type { GmailChanges } from './gmail-changes.ts';
import { dateOf, type GmailContents } from './gmail-content.ts';
import type { GoogleCost } from './google-api.ts';
import { assertMaySendFrom } from './gmail-senders.ts';
import { GoogleError } from './google-error.ts';

/** Mail of Google accounts, by the Gmail API. */
export class GmailMail implements MailPort {
  readonly recipientsFrom = 'headers';

  constructor(
    private readonly gmail: GmailWriter,
    private readonly changes: GmailChanges,
    private readonly contents: GmailContents,
    private readonly audit: GmailAudit,
    private readonly clock: Clock,
  ) {}

  /**
   * Gmail files the copy in Sent. It removes the Bcc header from what others receive. An address
   * that is not the account's is refused before anything is sent.
   */
  async send(
    account: ProviderAccount,
    message: OutgoingMessage,
    { signal, onPhase }: SendControl,
  ): Promise<SendReceipt> {
    const { mime, bcc, envelope, threadId = null } = message;
    await assertMaySendFrom(this.gmail, account, envelope.from);
    // Before the first phase: a message that has to wait for the quota has not left.
    await this.gmail.reserve(account, {
      units: this.gmail.costs['messages.send'],
      priority: 'send',
    });
    if (signal.aborted)
      throw new ProviderError('temporary', 'The send was aborted before the content was sent', {
        phase: 'connect',
      });
    // One request carries everything: it is the last step as soon as it begins.
    for (const phase of PHASES) onPhase(phase);
    const whole = withBcc(mime, bcc);
    const { id, threadId: thread } = await this.#inThread(account, whole, threadId);
    return {
      accepted: envelope.recipients,
      refused: [],
      deferred: [],
      response: `Gmail accepted the message as ${id}`,
      stored: { providerId: id, threadId: thread },
      copyAfterSeconds: 0,
    };
  }

  /**
   * Searches by Message-ID. The search may lag behind, so the newest messages of Sent are compared
   * as well. Not finding the message proves that it was not sent if they reach back far enough.
   */
  async findSent(account: ProviderAccount, messageIdHeader: string): Promise<SentLookup> {
    const q = withHeader(messageIdHeader);
    const search = await this.gmail.list(account, { labelId: 'SENT', q }, this.#lookUp);
    if (search.messages.length > 0) return FOUND;
    const { messages } = await this.gmail.list(
      account,
      { labelId: 'SENT', maxResults: COMPARED },
      this.#lookUp,
    );
    const newest = await Promise.all(
      messages.map(({ id }) => this.gmail.metadata(account, id, ['Message-ID'], 'send')),
    );
    const headers = newest.flatMap(({ payload }) =>
      payload.headers.map(({ value }) => value.trim()),
    );
    if (headers.includes(messageIdHeader)) return FOUND;
    const since = this.clock.now().getTime() - COMPARED_MS;
    const isEnough =
      newest.length < COMPARED || newest.some((one) => dateOf(one).getTime() < since);
    return { found: false, conclusive: isEnough };
  }

  async fileRelayed(account: ProviderAccount, messageIdHeader: string, mime: Buffer) {
    const { found } = await this.findSent(account, messageIdHeader);
    if (!found) await this.gmail.insert(account, mime, ['SENT']);
  }

  listChanges(account: ProviderAccount, request: SyncPassRequest) {
    return this.changes.listChanges(account, request);
  }

  readMessages(account: ProviderAccount, request: ReadRequest) {
    return this.contents.readMessages(account, request);
  }

  fetchRaw(account: ProviderAccount, providerId: string) {
    return this.contents.fetchRaw(account, providerId);
  }

  openFile(account: ProviderAccount, providerId: string, section: string) {
    return this.contents.openFile(account, providerId, section);
  }

  listIds(account: ProviderAccount, request: MessageIdsRequest) {
    return this.audit.listIds(account, request);
  }

  listFolders(account: ProviderAccount) {
    return this.audit.listFolders(account);
  }

  /** A look-up holds a message up, so it has the same priority. */
  get #lookUp(): GoogleCost {
    return { units: this.gmail.costs['messages.list'], priority: 'send' };
  }

  /** If the thread was deleted, Gmail finds or makes another one. */
  async #inThread(
    account: ProviderAccount,
    mime: Buffer,
    threadId: string | null,
  ): Promise<MessageRef> {
    try {
      return await this.gmail.sendMessage(account, mime, threadId, true);
    } catch (error) {
      const isGone = error instanceof GoogleError && error.code === 'not-found';
      if (threadId === null || !isGone) throw error;
      return this.gmail.sendMessage(account, mime, null, false);
    }
  }
}

const FOUND: SentLookup = { found: true, conclusive: true };
/** Messages of Sent that are compared, and how far back they have to reach. */
const COMPARED = 10;
const COMPARED_MS = 30 * 60_000;

const PHASES = ['connect', 'login', 'envelope', 'content', 'confirmation'] as const;

/** Search words for a Message-ID, which Gmail takes without angle brackets. */
export function withHeader(messageIdHeader: string): string {
  return `rfc822msgid:${messageIdHeader.replace(/^<|>$/g, '')}`;
}
