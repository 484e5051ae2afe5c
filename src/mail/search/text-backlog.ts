import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { Database, idsOf, type Sql } from '../../platform/database/sql.ts';
import { ObjectDamagedError } from '../../platform/objects/object-errors.ts';
import { searchDocument } from '../../formats/text/search-document.ts';
import { snippetOf } from '../../formats/text/snippet.ts';
import {
  bodyBytes,
  type PackedBody,
  readPackedBodies,
  unpackHere,
} from '../messages/contents/read-contents.ts';
import { StoredBodies } from '../messages/objects/stored-bodies.ts';
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

const PEEK = `
  select account_id as "accountId", done_date as "doneDate", done_id as "doneId" from text_backlog
  order by account_id limit 1`;
const NEXT = `${PEEK} for update skip locked`;

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

  constructor(
    private readonly database: Database,
    private readonly bodies: StoredBodies,
  ) {}

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
      const count = until?.aborted ? null : await this.#step(batch);
      if (count === null) break;
      read += count;
    }
    return read;
  }

  async #step(batch: number): Promise<number | null> {
    const fetched = await this.#fetch(batch);
    return this.database.transaction((sql) => step(sql, batch, fetched));
  }

  /**
   * Reads those bodies of the next batch that are in the object store, before its transaction. If
   * another process takes the batch, they are read in vain.
   * @throws {ObjectStoreUnavailableError}
   */
  async #fetch(batch: number): Promise<FetchedBodies> {
    if (!this.bodies.hasStore) return new Map();
    const { accountId, messages } = await nextBatch(this.database, PEEK, batch);
    const packed = await readPackedBodies(this.database, accountId, idsOf(messages));
    const away = packed.filter(({ objectKey }) => objectKey !== null);
    const bodies = await Promise.all(away.map((row) => this.#fetchOne(row)));
    return new Map(away.map(({ objectKey }, index) => [objectKey ?? '', bodies[index] ?? null]));
  }

  async #fetchOne(row: PackedBody): Promise<string | null> {
    try {
      return (await this.bodies.unpack([row]))[0]?.body ?? null;
    } catch (error) {
      // It is logged. The message keeps its texts.
      if (error instanceof ObjectDamagedError) return null;
      throw error;
    }
  }
}

/** Bodies that were read from the object store, by key; `null` for an object that is damaged. */
type FetchedBodies = ReadonlyMap<string, string | null>;

type Position = RowOf<TextBacklog, 'accountId' | 'doneDate' | 'doneId'>;

/** The next messages of the first account whose row `text` finds; `accountId` is '' if none is. */
async function nextBatch(
  sql: Sql,
  text: string,
  batch: number,
): Promise<{ accountId: string; messages: BacklogMessage[] }> {
  const [next] = await sql.query<Position>(text);
  if (!next) return { accountId: '', messages: [] };
  const { accountId, doneDate, doneId } = next;
  const values = [accountId, doneDate, doneId, batch, BATCH_BYTES];
  return { accountId, messages: await sql.query<BacklogMessage>(BACKLOG_MESSAGES, values) };
}

/**
 * Processes one batch.
 * @returns number of messages that were read; `null` if none can be read now
 */
async function step(sql: Sql, batch: number, fetched: FetchedBodies): Promise<number | null> {
  const { accountId, messages } = await nextBatch(sql, NEXT, batch);
  if (accountId === '') return null;
  const last = messages.at(-1);
  if (!last) {
    await sql.query(DONE, [accountId]);
    return 0;
  }
  const known = idsOf(messages.filter(({ listed }) => !listed));
  const bodies = await bodiesOf(sql, accountId, known, fetched);
  // A body has moved to the object store since, or the batch is that of another account, because
  // another process has the first one. The next run goes on.
  if (bodies === null) return null;
  await store(sql, accountId, await textsOf(messages, bodies));
  await sql.query(WENT_ON, [accountId, last.date, last.id]);
  return messages.length;
}

/** @returns `null` if a body is in the object store and was not read there */
async function bodiesOf(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
  fetched: FetchedBodies,
): Promise<Map<string, string> | null> {
  const bodies = new Map<string, string>();
  for (const { id, ...packed } of await readPackedBodies(sql, accountId, ids)) {
    const { objectKey: key } = packed;
    const body = key === null ? await unpackHere(packed) : fetched.get(key);
    if (body === undefined) return null;
    if (body !== null) bodies.set(id, body);
  }
  return bodies;
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
