import { Injectable, Logger } from '@nestjs/common';
import type { Address } from '../../platform/base/text/address.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { storeDocuments } from './store-document.ts';

/** Limits per transaction: number of messages, and bytes of their bodies. */
const BATCH = 200;
const BATCH_BYTES = 8 * 1024 * 1024;
const MOST_MS = 50_000;

const NEXT = `
  select account_id as "accountId", done_date as "doneDate", done_id as "doneId" from search_backlog
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
 * locked, so that they cannot be deleted meanwhile. Parameters: account, date and id of the last
 * processed message or null, maximum number of messages, maximum bytes of their bodies.
 */
export const BACKLOG_MESSAGES = `
  with batch as materialized (
    select m.id, m.date, coalesce((select octet_length(b.body) from message_body b where b.message_id = m.id), 0) as bytes
    from (
      ${side('not draft')}
      union all
      ${side('draft')}) m
    order by m.date desc, m.id desc limit $4),
  small as (
    select id, date, row_number() over w as n, sum(bytes) over w as total from batch
    window w as (order by date desc, id desc))
  select m.id, m.date, m.subject, m.from_addresses as "from", m.to_addresses as "to", m.cc_addresses as "cc",
    m.bcc_addresses as "bcc",
    -- A search document uses no more than this.
    coalesce((select left(b.body, 600000) from message_body b where b.message_id = m.id), '') as body,
    (select coalesce(json_agg(json_build_object('filename', f.filename) order by f.part), '[]')
     from file f where f.message_id = m.id) as files,
    exists (select 1 from message_search s where s.message_id = m.id) as done
  from small join message m on m.id = small.id
  where small.n = 1 or small.total <= $5
  order by m.date desc, m.id desc
  for key share of m`;

const WENT_ON = `update search_backlog set done_date = $2, done_id = $3 where account_id = $1`;
const DONE = `delete from search_backlog where account_id = $1`;

interface BacklogMessage {
  id: string;
  date: Date;
  subject: string;
  from: Address[];
  to: Address[];
  cc: Address[];
  bcc: Address[];
  body: string;
  files: { filename: string }[];
  done: boolean;
}

/**
 * Adds search documents for messages that an earlier version mirrored: one account after the other,
 * newest first, in small transactions. Several processes share the work. New messages get their
 * documents when they are stored.
 */
@Injectable()
export class SearchBacklogRunner {
  readonly #log = new Logger(SearchBacklogRunner.name);

  constructor(private readonly database: Database) {}

  /** Runs for less than a minute, so that another process can continue. */
  async runBriefly(stop: AbortSignal): Promise<void> {
    const stored = await this.run(AbortSignal.any([stop, AbortSignal.timeout(MOST_MS)]));
    if (stored > 0) this.#log.log(`${stored} more messages can now be found by search`);
  }

  /** Runs until no message is left or `until` is aborted. @returns number of stored documents */
  async run(until?: AbortSignal): Promise<number> {
    let stored = 0;
    for (;;) {
      const count = until?.aborted ? null : await this.database.transaction(step);
      if (count === null) break;
      stored += count;
    }
    return stored;
  }
}

/** Processes one batch. @returns number of stored documents; `null` if no account is left */
async function step(sql: Sql): Promise<number | null> {
  const [next] = await sql.query<{
    accountId: string;
    doneDate: Date | null;
    doneId: string | null;
  }>(NEXT);
  if (!next) return null;
  const { accountId } = next;
  const messages = await sql.query<BacklogMessage>(BACKLOG_MESSAGES, [
    accountId,
    next.doneDate,
    next.doneId,
    BATCH,
    BATCH_BYTES,
  ]);
  const last = messages.at(-1);
  if (!last) {
    await sql.query(DONE, [accountId]);
    return 0;
  }
  const missing = messages.filter(({ done }) => !done);
  await storeDocuments(sql, accountId, missing);
  await sql.query(WENT_ON, [accountId, last.date, last.id]);
  return missing.length;
}
