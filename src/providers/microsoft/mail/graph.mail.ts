import { markOf, withMark } from '../../../formats/mime/message-mark.ts';
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
  SentLookup,
  SentTraces,
  StoredCopy,
  SyncPassRequest,
} from '../../port/connector.ts';
import { senderRefused } from '../../rest/sender-refused.ts';
import type { GraphApi } from '../graph-api.ts';
import type { GraphAudit } from './graph-audit.ts';
import type { GraphChanges } from './graph-changes.ts';
import type { GraphContents } from './graph-content.ts';
import { GraphError, ifAllowed } from '../graph-error.ts';
import type { GraphSenders } from './graph-senders.ts';
import { hasSimilar } from './graph-similar.ts';
import { microsoftSettings } from '../microsoft.settings.ts';
import { type GraphOutgoing, MOST_MIME_BYTES } from './graph-outgoing.ts';

/** The parts of `GraphMail`. */
export interface GraphMailParts {
  graph: GraphApi;
  changes: GraphChanges;
  contents: GraphContents;
  audit: GraphAudit;
  outgoing: GraphOutgoing;
  senders: GraphSenders;
}

/** Mail of Microsoft accounts, by Microsoft Graph. */
export class GraphMail implements MailPort {
  readonly recipientsFrom = 'headers';
  readonly provesAbsence = false;
  readonly marksSent = true;

  constructor(private readonly parts: GraphMailParts) {}

  /**
   * Exchange files the copy in Sent Items and removes the Bcc header from what others receive. A
   * message that is too large for one request, or that is from another address, is stored as a
   * draft, which is then sent.
   */
  async send(
    account: ProviderAccount,
    message: OutgoingMessage,
    control: SendControl,
  ): Promise<SendReceipt> {
    const { envelope, messageIdHeader, bcc } = message;
    const isForeign = envelope.from.toLowerCase() !== account.email.toLowerCase();
    if (isForeign) this.parts.senders.assertKept(account, envelope.from);
    // Before the first phase: a message that has to wait for the quota has not left.
    await this.parts.graph.reserve(account, control.signal.aborted ? undefined : control.signal);
    assertWanted(control);
    const mime = withMark(withBcc(message.mime, bcc), markOf(messageIdHeader));
    const asJson = mime.length > MOST_MIME_BYTES || needsFrom(account, envelope.from, mime);
    const sending = asJson
      ? this.#sendDraft(account, { messageIdHeader, mime }, control)
      : this.#sendAtOnce(account, mime, control);
    const stored = await sending.catch((error: unknown) => {
      throw isSenderRefused(error) ? senderRefused(envelope.from, hintFor(account), error) : error;
    });
    const accepted = {
      from: envelope.from,
      messageIdHeader,
      providerId: stored?.providerId ?? null,
    };
    const warning = isForeign ? await this.parts.senders.warningAbout(account, accepted) : null;
    return {
      accepted: envelope.recipients,
      refused: [],
      deferred: [],
      response: ['Microsoft accepted the message', ...(warning ? [warning] : [])].join(', '),
      copyAfterSeconds: COPY_SECONDS,
      ...(stored ? { stored } : {}),
    };
  }

  /**
   * Searches Sent Items. Not finding the message proves nothing: Exchange files it when it has left
   * the Outbox, which may take minutes, and is not known to keep Message-IDs or other headers.
   */
  async findSent(
    account: ProviderAccount,
    messageIdHeader: string,
    traces?: SentTraces,
  ): Promise<SentLookup> {
    const { outgoing, graph } = this.parts;
    const copies = await outgoing.findSent(account, messageIdHeader);
    if (copies.length > 0) return { found: true, conclusive: true };
    const similar = traces !== undefined && (await hasSimilar(graph, account, traces));
    return { found: false, conclusive: false, ...(similar ? { similar } : {}) };
  }

  async fileRelayed(account: ProviderAccount, messageIdHeader: string, mime: Buffer) {
    const { found } = await this.findSent(account, messageIdHeader);
    if (!found) await this.parts.outgoing.fileSent(account, mime);
  }

  listChanges(account: ProviderAccount, request: SyncPassRequest) {
    return ifAllowed(this.parts.changes.listChanges(account, request));
  }

  fetchRaw(account: ProviderAccount, providerId: string) {
    return this.parts.contents.fetchRaw(account, providerId);
  }

  openFile(account: ProviderAccount, providerId: string, section: string) {
    return this.parts.contents.openFile(account, providerId, section);
  }

  listIds(account: ProviderAccount, request: MessageIdsRequest) {
    return this.parts.audit.listIds(account, request);
  }

  listFolders(account: ProviderAccount) {
    return this.parts.audit.listFolders(account);
  }

  countMessages(account: ProviderAccount) {
    return this.parts.audit.countMessages(account);
  }

  readMessages(account: ProviderAccount, request: ReadRequest) {
    return this.parts.audit.readMessages(account, request);
  }

  /** One request carries everything: it is the last step as soon as it begins. */
  async #sendAtOnce(account: ProviderAccount, mime: Buffer, { onPhase }: SendControl) {
    for (const phase of [...BEFORE, 'confirmation'] as const) onPhase(phase);
    await this.parts.outgoing.sendMail(account, mime);
    return null;
  }

  /** A draft that an earlier attempt left behind was not sent: Exchange moves those that were. */
  async #sendDraft(
    account: ProviderAccount,
    message: { messageIdHeader: string; mime: Buffer },
    control: SendControl,
  ): Promise<StoredCopy> {
    const { outgoing } = this.parts;
    for (const phase of BEFORE) control.onPhase(phase);
    const left = await outgoing.find(account, 'drafts', message.messageIdHeader, 'send');
    for (const { providerId } of left) await outgoing.remove(account, providerId, 'send');
    const draft = await outgoing.createInParts(account, message.mime, 'send');
    try {
      assertWanted(control);
      control.onPhase('confirmation');
      await outgoing.sendDraft(account, draft.providerId);
    } catch (error) {
      if (!isUnknown(error)) await this.#discard(account, draft.providerId);
      throw error;
    }
    return draft;
  }

  /** A draft that cannot be removed now is removed by the next attempt. */
  async #discard(account: ProviderAccount, id: string): Promise<void> {
    try {
      await this.parts.outgoing.remove(account, id, 'send');
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
    }
  }
}

const BEFORE = ['connect', 'login', 'envelope', 'content'] as const;

function assertWanted({ signal }: SendControl): void {
  if (signal.aborted)
    throw new ProviderError('temporary', 'The send was aborted before the content was sent', {
      phase: 'connect',
    });
}

/** Parts that would not survive when Exchange composes the message from fields. */
const ONLY_AS_MIME =
  /^content-type:\s*(?:text\/calendar|multipart\/(?:signed|encrypted)|application\/(?:x-)?pkcs7)/im;

/**
 * Whether the message needs the field `from` of JSON. Microsoft describes no other way to send from
 * another address than that of the mailbox.
 */
function needsFrom({ email }: ProviderAccount, from: string, mime: Buffer): boolean {
  return from.toLowerCase() !== email.toLowerCase() && !ONLY_AS_MIME.test(mime.toString('latin1'));
}

const isSenderRefused = (error: unknown): boolean =>
  error instanceof GraphError && error.reason === 'ErrorSendAsDenied';
/** Exchange files the copy when the message has left the Outbox. */
const COPY_SECONDS = 3;
const EXCHANGE_HINT =
  'An administrator of Exchange can give it the permission "Send as" or "Send on behalf" for this address.';
const CONSENT_HINT =
  'The sign-in did not ask for Mail.Send.Shared: name the scope email.send_as besides the others and let the user sign in again.';

/** What is missing to send as somebody else: the user's consent, or the permission of Exchange. */
function hintFor({ providerScopes, settings }: ProviderAccount): string {
  const isApp = microsoftSettings.parse(settings).app_only === true;
  const hasConsent =
    providerScopes?.some((name) => /(^|\/)Mail\.Send\.Shared$/i.test(name)) ?? true;
  return isApp || hasConsent ? EXCHANGE_HINT : `${CONSENT_HINT} ${EXCHANGE_HINT}`;
}

const isUnknown = (error: unknown): boolean =>
  error instanceof ProviderError && error.code === 'outcome-unknown';
