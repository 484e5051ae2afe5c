import { markOfKind, withMark } from '../../../formats/mime/message-mark.ts';
import { withBcc } from '../../../formats/mime/with-bcc.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type {
  MailPort,
  MessageIdsRequest,
  OutgoingMessage,
  ProviderAccount,
  ReadRequest,
  SendControl,
  SendReceipt,
  SentTraces,
  SyncPassRequest,
} from '../../port/connector.ts';
import type { MessageRef } from './gmail-api.ts';
import type { GmailWriter } from './gmail-writer.ts';
import type { GmailAudit } from './gmail-audit.ts';
import type { GmailChanges } from './gmail-changes.ts';
import type { GmailContents } from './gmail-content.ts';
import type { GmailLookups } from './gmail-lookups.ts';
import { assertMaySendFrom } from './gmail-senders.ts';
import { GoogleError } from '../google-error.ts';

/** Mail of Google accounts, by the Gmail API. */
export class GmailMail implements MailPort {
  readonly recipientsFrom = 'headers';
  readonly marksSent = true;

  constructor(
    private readonly gmail: GmailWriter,
    private readonly changes: GmailChanges,
    private readonly contents: GmailContents,
    private readonly audit: GmailAudit,
    private readonly lookups: GmailLookups,
  ) {}

  /**
   * Gmail files the copy in Sent. It removes the Bcc header from what others receive. The message
   * gets a mark by which it is found again (ADR 0123). An address that is not the account's is
   * refused before anything is sent.
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
    const whole = withMark(withBcc(mime, bcc), markOfKind('send', message.messageIdHeader));
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

  findSent(account: ProviderAccount, messageIdHeader: string, traces?: SentTraces) {
    return this.lookups.findSent(account, messageIdHeader, traces);
  }

  async fileRelayed(account: ProviderAccount, messageIdHeader: string, mime: Buffer) {
    if (await this.lookups.isFiled(account, messageIdHeader, mime)) return;
    await this.gmail.insert(account, withMark(mime, markOfKind('copy', messageIdHeader)), ['SENT']);
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

const PHASES = ['connect', 'login', 'envelope', 'content', 'confirmation'] as const;
