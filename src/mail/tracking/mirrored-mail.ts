import { createHash } from 'node:crypto';
import type { Authorship } from '../../formats/mime/author.ts';
import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { ChangeRecord } from '../../platform/changes/change-log.ts';
import type { DeliveryReport } from '../parsing/delivery-report.ts';
import type { TrackedMessage } from './tracked-message.entity.ts';
import type { Application } from '../../accounts/applications/application.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** A message that a sync pass has just stored in a mirror. */
export interface ArrivedMessage extends Authorship {
  id: string;
  threadId: string;
  messageIdHeader: string | null;
  inReplyTo: string | null;
  /** Oldest first. */
  references: readonly string[];
  receivedAt: Date;
  report?: DeliveryReport | undefined;
}

/** The account of the mirror. */
export interface MirrorAccount {
  accountId: string;
  applicationId: string;
  email: string;
}

/** Finds messages that the outbox has sent, by Message-ID, even if they are not in the mirror. */
export type FindSentByUs = (
  headers: readonly string[],
) => Promise<ReadonlyMap<string, { messageId: string; threadId: string }>>;

/**
 * Messages that were received longer ago send no notification. Sent notifications are remembered
 * for at least as long, so none is sent twice when a mailbox is mirrored again.
 */
const NEWS_MS = 7 * 86_400_000;
/** The nearest references of a long chain are enough. */
const MOST_NAMED = 20;

/**
 * Notifications about messages that have just come into a mirror: replies to tracked messages, and
 * bounces of the account's messages. Call it in the transaction that stores the messages, after
 * they are stored. Makes no query for replies, or for bounces, if there are none.
 */
export async function notificationsOf(
  sql: Sql,
  account: MirrorAccount,
  arrived: readonly ArrivedMessage[],
  findSentByUs: FindSentByUs,
  now: Date,
): Promise<ChangeRecord[]> {
  const news = arrived.filter(({ receivedAt }) => now.getTime() - receivedAt.getTime() < NEWS_MS);
  const replies = news.filter(({ report, isAutomatic }) => report === undefined && !isAutomatic);
  const bounces = news.filter(
    ({ report }) => report && report.failed.length > 0 && report.about.length > 0,
  );
  return [
    ...(replies.length > 0 ? await repliesOf(sql, account, replies, now) : []),
    ...(bounces.length > 0 ? await bouncesOf(sql, account, bounces, findSentByUs, now) : []),
  ];
}

// The nearest message that it replies to, or else the last tracked message sent in its thread.
const ANSWERED = `
  select distinct on (x.id) x.id, t.message_id as "messageId", t.payload, a.client_id as "clientId"
  from jsonb_to_recordset($2::jsonb) x(id uuid, thread_id uuid, header text, named text[], received_at timestamptz)
  cross join lateral (
    select t.*, array_position(x.named, t.message_id_header) as near
    from tracked_message t where t.account_id = $1 and t.message_id_header = any(x.named)
    union all
    select t.*, null from message m join tracked_message t on t.message_id = m.id
    where m.thread_id = x.thread_id and t.account_id = $1 and date_trunc('second', t.counted_from) <= x.received_at) t
  join "grant" g on g.id = $1 join application a on a.id = g.application_id
  where t.thread_replies and t.counted_from <= $3 and t.counted_until > $3
    and t.message_id_header is distinct from x.header
  order by x.id, t.near nulls last, t.counted_from desc`;

interface Answered
  extends RowOf<TrackedMessage, 'messageId' | 'payload'>, RowOf<Application, 'clientId'> {
  /** Id of the reply. */
  id: string;
}

async function repliesOf(
  sql: Sql,
  account: MirrorAccount,
  arrived: readonly ArrivedMessage[],
  now: Date,
): Promise<ChangeRecord[]> {
  const { accountId, applicationId, email } = account;
  const asked = arrived.map((message) => ({
    id: message.id,
    thread_id: message.threadId,
    header: message.messageIdHeader,
    named: [message.inReplyTo, ...message.references.slice(-MOST_NAMED).toReversed()].filter(
      (id) => id !== null,
    ),
    received_at: message.receivedAt,
  }));
  const rows = await sql.query<Answered>(ANSWERED, [accountId, JSON.stringify(asked), now]);
  const answers = new Map(rows.map((row) => [row.id, row]));
  const change = { applicationId, accountId, event: 'modify', at: now, logged: false } as const;
  return arrived.flatMap((message): ChangeRecord[] => {
    const answered = answers.get(message.id);
    if (!answered) return [];
    return [
      {
        ...change,
        object: 'thread',
        objectId: message.threadId,
        webhook: {
          trigger: 'thread.replied',
          dedupe: `tracking:${answered.messageId}:replied:${nameOf(message)}`,
          metadata: {
            message_id: message.id,
            reply_to_message_id: answered.messageId,
            thread_id: message.threadId,
            timestamp: toUnixSeconds(message.receivedAt),
            from_self: message.author === email,
            payload: answered.payload ?? '',
            sender_app_id: answered.clientId,
          },
        },
      },
    ];
  });
}

// Messages in the mirror that the account has sent, by any mail program; it may be one of several
// authors. That needs no certain author: a sender who can name a message can also report its
// failure.
const OWN = `
  select distinct on (m.message_id_header) m.message_id_header as header, m.id as "messageId", m.thread_id as "threadId"
  from message m
  where m.account_id = $1 and m.message_id_header = any($2::text[]) and not m.draft
    and exists (select 1 from jsonb_array_elements(m.from_addresses) f where lower(f ->> 'email') = $3)
  order by m.message_id_header, m.id`;

async function bouncesOf(
  sql: Sql,
  { accountId, applicationId, email }: MirrorAccount,
  arrived: readonly ArrivedMessage[],
  findSentByUs: FindSentByUs,
  now: Date,
): Promise<ChangeRecord[]> {
  const headers = [...new Set(arrived.flatMap(({ report }) => report?.about ?? []))];
  const own = await sql.query<{ header: string; messageId: string; threadId: string }>(OWN, [
    accountId,
    headers,
    email,
  ]);
  const known = new Map<string, { messageId: string; threadId: string }>(
    own.map((row) => [row.header, row]),
  );
  // For a message of the outbox, clients know the id that was announced when it was accepted.
  for (const [header, sent] of await findSentByUs(headers)) known.set(header, sent);
  const change = { applicationId, accountId, event: 'modify', at: now, logged: false } as const;
  return arrived.flatMap((message): ChangeRecord[] => {
    const header = message.report?.about.find((one) => known.has(one));
    const about = header === undefined ? undefined : known.get(header);
    if (!about || !message.report) return [];
    return [
      {
        ...change,
        object: 'message',
        objectId: about.messageId,
        webhook: {
          trigger: 'message.bounced',
          dedupe: `message:${about.messageId}:bounced:${nameOf(message)}`,
          metadata: {
            message_id: about.messageId,
            thread_id: about.threadId,
            report_message_id: message.id,
            timestamp: toUnixSeconds(message.receivedAt),
            ...failuresOf(message.report),
          },
        },
      },
    ];
  });
}

/**
 * Details of a bounce. `type`, `code` and `bounce_reason` are those of the first recipient with a
 * hard failure, or of the first recipient if none has one.
 */
function failuresOf({ failed }: DeliveryReport): Record<string, unknown> {
  const worst = failed.find(({ type }) => type === 'hard') ?? failed[0];
  return {
    type: worst?.type,
    code: worst?.code ?? worst?.smtpCode ?? null,
    bounce_reason: worst?.text,
    bounced_addresses: failed.map((one) => one.email),
    recipients: failed.map(({ email, type, code, smtpCode, text }) => {
      return { email, type, code, smtp_code: smtpCode, text };
    }),
  };
}

/** A key that is the same for every copy of a message, however often it is mirrored. */
function nameOf({ messageIdHeader, id }: ArrivedMessage): string {
  return messageIdHeader === null
    ? id
    : createHash('sha256').update(messageIdHeader).digest('base64url');
}
