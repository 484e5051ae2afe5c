import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { allows, SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { Database } from '../../platform/database/sql.ts';
import type { MessageFileRecord, MessageFolderRecord } from '../messages/filters/message-filter.ts';
import { toMessageView } from '../messages/messages.mapper.ts';
import {
  messageStateView,
  type MessageStateView,
  type MessageView,
} from '../messages/messages.schema.ts';
import type { DirectMessage } from '../outbox/accept/direct-sends.ts';
import { snippetOf } from '../../formats/text/snippet.ts';
import type { SendMessage } from './send.schema.ts';

const FOLDERS = `
  select id, name, display_name as "displayName" from folder
  where account_id = $1 and name = any($2::text[]) order by name desc, id`;

/** Folders that a sent message will be in, by the kind of account. */
const NAMES = { folder: ['sent'], label: ['sent', 'all'] } as const;

/** Shows messages that were just sent as the mirror will show them. */
@Injectable()
export class SentViews {
  constructor(private readonly database: Database) {}

  /** @param files attachments of the message */
  async of(
    account: AccountPrincipal,
    message: DirectMessage,
    files: readonly MessageFileRecord[],
  ): Promise<MessageView> {
    const { content, accountId } = message;
    const folders = await this.database.query<MessageFolderRecord>(FOLDERS, [
      accountId,
      NAMES[account.organizationUnit],
    ]);
    const record = {
      id: message.messageId,
      accountId,
      threadId: message.threadId,
      subject: content.subject,
      snippet: snippetOf(content.body),
      body: content.body,
      date: message.at,
      from: content.from,
      to: content.to,
      cc: content.cc,
      bcc: content.bcc,
      replyTo: content.reply_to,
      unread: false,
      starred: false,
      metadata: content.metadata ?? {},
      messageIdHeader: message.messageIdHeader,
      inReplyTo: null,
      references: [],
      draft: false,
      listed: false,
      version: 0,
      replyToMessageId: content.reply_to_message_id ?? null,
      tracking: null,
      files: [...files],
      folders,
      eventIds: null,
      warnings: [],
      events: [],
    };
    return toMessageView(record, account.organizationUnit, undefined, message.id);
  }
}

/**
 * A sent message as far as the caller may read it. A token that may send drafts but not read them
 * gets only the state of the message.
 * @param answer response of `SentViews`, made in this request or in the first one with its key
 */
export function shownTo(
  { scopes }: AccountPrincipal,
  { draft_id: draftId }: Pick<SendMessage, 'draft_id'>,
  answer: unknown,
): MessageView | MessageStateView {
  const message = answer as MessageView;
  return !draftId || allows(scopes, SCOPES_FOR.readDrafts)
    ? message
    : messageStateView.parse(message);
}
