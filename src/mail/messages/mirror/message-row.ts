import type { Address } from '../../../platform/base/text/address.ts';
import type { NewContent } from '../contents/store-contents.ts';
import { columnList } from '../../../platform/database/statements/column-list.ts';
import { peopleOf } from '../filters/people.ts';

/*
 * The one list of what is written to the columns of `message`. Statements that insert, complete and
 * edit messages are built from it. A new column needs a line in this list, one in the entity, and
 * one in the interface of the messages that have a value for it.
 */

/** What the content of a message says about it. */
export interface MessageHeaders {
  id: string;
  subject: string;
  date: Date;
  from: readonly Address[];
  to: readonly Address[];
  cc: readonly Address[];
  bcc: readonly Address[];
  replyTo: readonly Address[];
  hasAttachments: boolean;
  messageIdHeader: string | null;
  inReplyTo: string | null;
  references: readonly string[];
  metadata: Readonly<Record<string, string>>;
}

/** A message whose content has been read. */
export interface CompletedMessage extends MessageHeaders, NewContent {
  /** The beginning of its text. */
  snippet: string;
}

/** The columns of what the content says, each with its type. */
const HEADERS = {
  id: 'id uuid',
  subject: 'subject text',
  snippet: 'snippet text',
  date: 'date timestamptz',
  from: 'from_addresses jsonb',
  to: 'to_addresses jsonb',
  cc: 'cc_addresses jsonb',
  bcc: 'bcc_addresses jsonb',
  replyTo: 'reply_to_addresses jsonb',
  participants: 'participants text[]',
  hasAttachments: 'has_attachments boolean',
  messageIdHeader: 'message_id_header text',
  inReplyTo: 'in_reply_to text',
  references: 'reference_ids text[]',
  metadata: 'metadata jsonb',
} as const satisfies Record<keyof MessageHeaders | 'snippet' | 'participants', string>;

/** Columns that depend on where a message is, and columns of drafts. */
const OTHERS = {
  providerId: 'provider_id text',
  threadId: 'thread_id uuid',
  unread: 'unread boolean',
  starred: 'starred boolean',
  draft: 'draft boolean',
  listed: 'listed boolean',
  version: 'version integer',
  replyToMessageId: 'reply_to_message_id uuid',
  tracking: 'tracking jsonb',
} as const;

const COLUMNS = { ...HEADERS, ...OTHERS };

/** A column of `message`, named as in the entity. */
type MessageColumn = keyof typeof COLUMNS;

const sql = columnList(COLUMNS);
export const { columnNames, typedColumns, assignments } = sql;

/** Columns that are written whenever the content of a message is. */
export const HEADER_COLUMNS = Object.keys(HEADERS) as (keyof typeof HEADERS)[];

/**
 * Messages for `jsonb_to_recordset`, with the people in their headers.
 * @param columns the columns that the statement writes
 */
export function messageRecords<C extends MessageColumn>(
  messages: readonly (MessageHeaders & Readonly<Record<Exclude<C, 'participants'>, unknown>>)[],
  columns: readonly C[],
): string {
  return JSON.stringify(
    messages.map((message) => {
      const row: Readonly<Record<Exclude<C, 'participants'> | 'participants', unknown>> = {
        ...message,
        participants: peopleOf(message),
      };
      return sql.columnValues(row as Readonly<Record<C, unknown>>, columns);
    }),
  );
}
