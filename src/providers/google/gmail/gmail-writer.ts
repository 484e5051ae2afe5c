import type { ProviderAccount } from '../../port/connector.ts';
import {
  type GmailDraft,
  gmailDraft,
  type GmailLabel,
  gmailLabel,
  GmailReader,
  ME,
  type MessageRef,
  messageRef,
} from './gmail-api.ts';
import type { GoogleCost } from '../google-api.ts';

const id = encodeURIComponent;

/** Requests to upload a message are larger than this many bytes; smaller ones are JSON. */
const UPLOAD_BYTES = 3 * 1024 * 1024;

/** The methods of the Gmail API that Carillon writes with. */
export class GmailWriter extends GmailReader {
  /** @throws {GoogleError} `conflict` if the name is taken */
  createLabel(account: ProviderAccount, name: string): Promise<GmailLabel> {
    const json = { name, labelListVisibility: 'labelShow', messageListVisibility: 'show' };
    return this.#labelWrite(account, 'POST', '', json);
  }

  renameLabel(account: ProviderAccount, labelId: string, name: string): Promise<GmailLabel> {
    return this.#labelWrite(account, 'PATCH', `/${id(labelId)}`, { name });
  }

  async deleteLabel(account: ProviderAccount, labelId: string): Promise<void> {
    const path = `${ME}/labels/${id(labelId)}`;
    const cost = { units: this.costs['labels.delete'], priority: 'interactive' } as const;
    await this.api.send(account, { method: 'DELETE', path, ...cost });
  }

  async modify(
    account: ProviderAccount,
    messageId: string,
    change: { addLabelIds: readonly string[]; removeLabelIds: readonly string[] },
  ): Promise<void> {
    await this.api.send(account, {
      method: 'POST',
      path: `${ME}/messages/${id(messageId)}/modify`,
      json: change,
      // Labels are sets: adding them twice changes nothing.
      repeatable: true,
      units: this.costs['messages.modify'],
      priority: 'interactive',
    });
  }

  /**
   * Takes units for requests that follow, which are then made with `reserved`.
   * @throws {BudgetExhaustedError}
   */
  reserve(account: ProviderAccount, cost: GoogleCost): Promise<void> {
    return this.api.reserve(account, cost);
  }

  /**
   * @param threadId the thread that the message belongs to; `null` lets Gmail decide
   * @param reserved whether its units were taken before
   */
  async sendMessage(
    account: ProviderAccount,
    mime: Buffer,
    threadId: string | null,
    reserved: boolean,
  ): Promise<MessageRef> {
    return this.api.read(
      account,
      {
        method: 'POST',
        ...messageBody('/messages/send', mime, threadId, (message) => message),
        units: this.costs['messages.send'],
        reserved,
        once: true,
        priority: 'send',
        deadlineMs: 120_000,
      },
      messageRef,
    );
  }

  /** Adds a message to the mailbox without sending it. */
  async insert(
    account: ProviderAccount,
    mime: Buffer,
    labelIds: readonly string[],
  ): Promise<MessageRef> {
    return this.api.read(
      account,
      {
        method: 'POST',
        ...messageBody('/messages', mime, null, (message) => ({ ...message, labelIds }), {
          internalDateSource: 'dateHeader',
        }),
        units: this.costs['messages.insert'],
        priority: 'interactive',
        deadlineMs: 120_000,
      },
      messageRef,
    );
  }

  /** @param draftId the draft to replace; `null` creates one */
  async writeDraft(
    account: ProviderAccount,
    draftId: string | null,
    mime: Buffer,
    threadId: string | null,
  ): Promise<GmailDraft> {
    const path = draftId === null ? '/drafts' : `/drafts/${id(draftId)}`;
    return this.api.read(
      account,
      {
        method: draftId === null ? 'POST' : 'PUT',
        ...messageBody(path, mime, threadId, (message) => ({ message })),
        units: this.costs[draftId === null ? 'drafts.create' : 'drafts.update'],
        priority: 'interactive',
        deadlineMs: 120_000,
      },
      gmailDraft,
    );
  }

  async deleteDraft(account: ProviderAccount, draftId: string): Promise<void> {
    const path = `${ME}/drafts/${id(draftId)}`;
    const cost = { units: this.costs['drafts.delete'], priority: 'interactive' } as const;
    await this.api.send(account, { method: 'DELETE', path, ...cost });
  }

  #labelWrite(account: ProviderAccount, method: 'POST' | 'PATCH', path: string, json: object) {
    const units = this.costs[method === 'POST' ? 'labels.create' : 'labels.update'];
    const cost = { units, priority: 'interactive' } as const;
    return this.api.read(
      account,
      { method, path: `${ME}/labels${path}`, json, repeatable: true, ...cost },
      gmailLabel,
    );
  }
}

/**
 * The path and body of a request with a message. A small message is a field of the JSON. Gmail
 * accepts large messages only by its upload address, with the JSON and the message as two parts.
 */
function messageBody(
  path: string,
  mime: Buffer,
  threadId: string | null,
  wrap: (message: object) => object,
  query: Readonly<Record<string, string>> = {},
) {
  const thread = threadId === null ? {} : { threadId };
  if (mime.length <= UPLOAD_BYTES)
    return { path: ME + path, query, json: wrap({ ...thread, raw: mime.toString('base64url') }) };
  const boundary = `carillon-${crypto.randomUUID()}`;
  const before = [
    `--${boundary}`,
    'Content-Type: application/json; charset=UTF-8',
    '',
    JSON.stringify(wrap(thread)),
    `--${boundary}`,
    'Content-Type: message/rfc822',
    '',
    '',
  ].join('\r\n');
  return {
    path: `/upload${ME}${path}`,
    query: { ...query, uploadType: 'multipart' },
    headers: { 'content-type': `multipart/related; boundary=${boundary}` },
    body: Buffer.concat([Buffer.from(before), mime, Buffer.from(`\r\n--${boundary}--\r\n`)]),
  };
}
