import { Inject, Injectable, Logger } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import type { Address } from '../../platform/base/text/address.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { storeDocuments } from './store-document.ts';

/** Messages per transaction, and bytes of their bodies that are reached at most. */
const BATCH = 200;
const BATCH_BYTES = 8 * 1024 * 1024;
/** It begins anew every minute: where it is then, another process can go on. */
const MOST_MS = 50_000;

const NEXT = `
  select account_id as "accountId", done_date as "doneDate", done_id as "doneId" from search_backlog
  order by account_id limit 1 for update skip locked`;

// Drafts have an index of their own. Whatever the plan is, it begins where the last batch ended.
const side = (which: string) => `(
        select id, date from message
        where account_id = $1 and ${which}
          and (date, id) < (coalesce($2::timestamptz, 'infinity'), coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
        order by date desc, id desc limit $4)`;

/**
 * The next messages of an account, newest first: what people look for. Held, so that nobody deletes one of them meanwhile.
 * Values: account, date and id of the last one looked at or null, messages and bytes of their bodies at most.
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
    -- Longer ones are cut anyway.
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
 * Makes messages findable that were mirrored by an earlier version: account by account, newest first, in small
 * transactions; several processes share the work. What is new meanwhile is made findable as it is stored.
 */
@Injectable()
export class SearchBacklogRunner {
  readonly #log = new Logger(SearchBacklogRunner.name);
  readonly #enabled: boolean;
  #stopping = false;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly database: Database,
  ) {
    this.#enabled = config.roles.includes('worker');
  }

  onModuleDestroy(): void {
    this.#stopping = true;
  }

  @Cron('41 * * * * *', { name: 'search backlog', waitForCompletion: true })
  async tick(): Promise<void> {
    if (!this.#enabled) return;
    try {
      const stored = await this.run(performance.now() + MOST_MS);
      if (stored > 0) this.#log.log(`${stored} messages can be searched now`);
    } catch (error) {
      // The next minute goes on where this one ended.
      this.#log.warn(error instanceof Error ? error.message : String(error));
    }
  }

  /** Goes on until nothing is left, or `until` by `performance.now()`. @returns documents stored */
  async run(until = Infinity): Promise<number> {
    let stored = 0;
    while (!this.#stopping && performance.now() < until) {
      const count = await this.database.transaction(step);
      if (count === null) break;
      stored += count;
    }
    return stored;
  }
}

/** @returns documents stored; null: there is nothing to do */
async function step(sql: Sql): Promise<number | null> {
  const [next] = await sql.query<{ accountId: string; doneDate: Date | null; doneId: string | null }>(NEXT);
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
