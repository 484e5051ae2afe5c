import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { Database, idsOf, type Sql } from '../../platform/database/sql.ts';
import { searchDocument } from '../../formats/text/search-document.ts';
import { snippetOf } from '../../formats/text/snippet.ts';
import { bodyBytes, readBodies } from '../messages/contents/read-contents.ts';
import { lockVersions, storeSnippets } from '../messages/mirror/store-snippets.ts';
import { storeThreadSnippets } from '../threading/store-thread-snippets.ts';
import { replaceDocuments } from '../messages/search-documents/store-document.ts';
import type { TextBacklog } from './text-backlog.entity.ts';
import type { Message } from '../messages/message.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** Limits per transaction: number of messages, and bytes of their bodies. */
const BATCH = 100;
const BATCH_BYTES = 4 * 1024 * 1024;
/** A snippet and a search document use no more characters of a body than this. */
const MOST_TEXT = 600_000;
const MOST_MS = 50_000;

const NEXT = `
  select account_id as "accountId", done_date as "doneDate", done_id as "doneId" from text_backlog
  order by account_id limit 1 for update skip locked`;

// Drafts have an index of their own. The row comparison makes any plan start where the last batch
// ended.
const side = (which: string) => `(
        select id, date from message
        where account_id = $1 and ${which}
          and (date, id) < (coalesce($2::timestamptz, 'infinity'), coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
        order by date desc, id desc limit $4)`;

/**
 * The next messages of an account, newest first, because people search for those. Their rows are
 * not locked. Parameters: account, date and id of the last processed message or null, maximum
 * number of messages, maximum bytes of their bodies.
 */
export const BACKLOG_MESSAGES = `
  with batch as materialized (
    select m.id, m.date, coalesce(${bodyBytes('$1', 'm.id')}, 0) as bytes
    from (
      ${side('not draft')}
      union all
      ${side('draft')}) m
    order by m.date desc, m.id desc limit $4),
  small as (
    select id, date, row_number() over w as n, sum(bytes) over w as total from batch
    window w as (order by date desc, id desc))
  select m.id, m.date, m.version, m.subject, m.from_addresses as "from", m.to_addresses as "to", m.cc_addresses as "cc",
    m.bcc_addresses as "bcc",
    m.listed,
    (select coalesce(json_agg(json_build_object('filename', f.filename) order by f.place), '[]')
     from (
       select d.filename, d.position as place from draft_file d where d.message_id = m.id
       union all
       select a.filename, a.part from file a
       where a.message_id = m.id and not exists (select 1 from draft_file d where d.message_id = m.id)) f) as files
  from small join message m on m.id = small.id
  where small.n = 1 or small.total <= $5
  order by m.date desc, m.id desc`;

const WENT_ON = `update text_backlog set done_date = $2, done_id = $3 where account_id = $1`;
const DONE = `delete from text_backlog where account_id = $1`;

interface BacklogMessage extends RowOf<
  Message,
  'id' | 'date' | 'version' | 'subject' | 'from' | 'to' | 'cc' | 'bcc' | 'listed'
> {
  files: { filename: string }[];
}

/**
 * Replaces snippets and search documents that an earlier version made: one account after the other,
 * newest first, in small transactions that continue where the last one ended. The old texts stay in
 * use until then. Several processes share the work. New messages get their texts when they are
 * stored.
 */
@Injectable()
export class TextBacklogRunner {
  readonly #log = new Logger(TextBacklogRunner.name);

  constructor(private readonly database: Database) {}

  /** Runs for less than a minute, so that another process can continue. */
  async runBriefly(stop: AbortSignal): Promise<void> {
    const read = await this.run(AbortSignal.any([stop, AbortSignal.timeout(MOST_MS)]));
    if (read > 0)
      this.#log.log(`made snippets and search documents of ${read} stored messages again`);
  }

  /**
   * Runs until no message is left or `until` is aborted.
   * @param options.batch most messages per transaction
   * @param options.batches most transactions; default: no limit
   * @returns number of messages that were read
   */
  async run(until?: AbortSignal, { batch = BATCH, batches = Infinity } = {}): Promise<number> {
    let read = 0;
    for (let number = 0; number < batches; number += 1) {
      const count = until?.aborted
        ? null
        : await this.database.transaction((sql) => step(sql, batch));
      if (count === null) break;
      read += count;
    }
    return read;
  }
}

/** Processes one batch. @returns number of messages that were read; `null` if no account is left */
async function step(sql: Sql, batch: number): Promise<number | null> {
  const [next] = await sql.query<RowOf<TextBacklog, 'accountId' | 'doneDate' | 'doneId'>>(NEXT);
  if (!next) return null;
  const { accountId } = next;
  const messages = await sql.query<BacklogMessage>(BACKLOG_MESSAGES, [
    accountId,
    next.doneDate,
    next.doneId,
    batch,
    BATCH_BYTES,
  ]);
  const last = messages.at(-1);
  if (!last) {
    await sql.query(DONE, [accountId]);
    return 0;
  }
  const known = idsOf(messages.filter(({ listed }) => !listed));
  const bodies = await readBodies(sql, accountId, known);
  await store(sql, accountId, await textsOf(messages, bodies));
  await sql.query(WENT_ON, [accountId, last.date, last.id]);
  return messages.length;
}

interface MessageTexts {
  id: string;
  date: Date;
  version: number;
  snippet: string;
  document: string;
}

/** A message without a body, or whose body is not fetched yet, keeps the texts that it has. */
async function textsOf(
  messages: readonly BacklogMessage[],
  bodies: ReadonlyMap<string, string>,
): Promise<MessageTexts[]> {
  const texts: MessageTexts[] = [];
  for (const { id, date, version, ...message } of messages) {
    const body = bodies.get(id)?.slice(0, MOST_TEXT);
    if (body === undefined) continue;
    const document = searchDocument({ ...message, body });
    texts.push({ id, date, version, snippet: snippetOf(body), document });
    // A large message takes some milliseconds; requests and sends must not wait for a whole batch.
    await yieldToOthers();
  }
  return texts;
}

/**
 * Stores the texts that differ. Locks messages before threads, each in the order of their ids, as
 * sync passes do, and only after all texts are made.
 */
async function store(sql: Sql, accountId: string, texts: readonly MessageTexts[]): Promise<void> {
  const unchanged = await lockVersions(sql, accountId, texts);
  const current = texts.filter(({ id }) => unchanged.has(id));
  const changed = await storeSnippets(sql, accountId, current);
  await storeThreadSnippets(sql, accountId, changed);
  await replaceDocuments(sql, accountId, current);
}
