import { Injectable } from '@nestjs/common';
import { Database } from '../platform/database/sql.ts';
import type { Position } from '../platform/waiting/cursor.ts';
import { bodyBytes } from '../mail/messages/contents/read-contents.ts';
import { DELTA_TYPES, type DeltaType } from '../platform/changes/delta-types.ts';
import type { LoggedChange } from './roll-up.ts';
import { lowestWriter } from '../platform/database/writer-keys.ts';
import type { Change } from '../platform/changes/change.entity.ts';
import type { RowOf } from '../platform/database/rows/row-of.ts';

/** State of the change log of an account. */
export interface LogState {
  /**
   * Number of the last readable change: no open transaction will add a change with this number or a
   * lower one. 0 if there is none.
   */
  end: number;
  /**
   * When the requested change was written, in Unix milliseconds; `null` if there is no such change.
   */
  at: number | null;
  /** Number of the last deleted change of the requested types; 0 if none was deleted. */
  pruned: number;
  /** The same for all types. */
  prunedOfAll: number;
}

export interface LogPage {
  changes: LoggedChange[];
  /** The last change that was examined; `null` if there was none. */
  end: Position | null;
}

// The snapshot of this statement is older than its list of writers. A writer that the list misses
// has either committed, and then the next statement sees its changes, or it will draw numbers above
// `newest`.
const STATE = `
  select
    (select max(c.seq) from change c where c.account_id = $1) as newest,
    ${lowestWriter('$1::uuid')} as writing,
    (select c.at from change c where c.account_id = $1 and c.seq = $2) as at,
    (select max(p.seq) from change_pruned p where p.account_id = $1 and p.object = any($3::text[])) as pruned,
    (select max(p.seq) from change_pruned p where p.account_id = $1) as "prunedOfAll"`;

/**
 * SQL of the next changes of the account $1 after $2 up to $3, at most $5.
 * @param ofTypes SQL condition for the types
 */
const nextChanges = (ofTypes: string): string => `
  select c.seq, c.at, c.object, c.object_id, c.event from change c
  where c.account_id = $1 and c.seq > $2 and c.seq <= $3 and ${ofTypes} order by c.seq limit $5`;
const OF_ALL_TYPES = nextChanges('c.object = any($4::text[])');
// Each type is read by its own part of the index `change_object`, so that a rare one costs as much
// as a frequent one. For all types it would cost nine times as much.
const OF_SOME_TYPES = `
  select n.* from unnest($4::text[]) t(object) cross join lateral (${nextChanges('c.object = t.object')}) n
  order by n.seq limit $5`;

// Sums the lengths of message bodies without reading the bodies.
const pageOf = (changes: string): string => `
  with page as materialized (
    select c.*,
      case when c.object in ('message', 'draft') and c.event <> 'delete'
        then ${bodyBytes('$1', 'c.object_id')} end as bytes
    from (${changes}) c),
  last as (
    select c.seq, c.at from change c
    where c.account_id = $1 and c.seq > $2 and c.seq <= $3 order by c.seq desc limit 1)
  select l.seq as "endSeq", l.at as "endAt", p.seq, p.at, p.object, p.object_id as "objectId", p.event,
    coalesce(p.bytes, 0) as bytes
  from last l left join page p on true order by p.seq`;
const PAGE = pageOf(OF_ALL_TYPES);
const PAGE_OF_SOME_TYPES = pageOf(OF_SOME_TYPES);

const AT_OR_BEFORE = `
  select seq, at from change where account_id = $1 and seq <= $2 order by seq desc limit 1`;
const FIRST_SINCE = `
  select seq from change where account_id = $1 and at >= $2 order by seq limit 1`;

const NEWEST = `
  select a.id as "accountId", n.seq
  from unnest($1::uuid[]) a(id)
  cross join lateral (
    select c.seq from change c where c.account_id = a.id order by c.seq desc limit 1) n`;

interface PageRow extends RowOf<Change, 'at' | 'objectId' | 'event'> {
  /** `null` in the only row of a page without changes. */
  seq: number | null;
  endSeq: number;
  endAt: Date;
  object: DeltaType;
  bytes: number;
}

/** Reads the change log. Every statement is limited to one account, or to a list of accounts. */
@Injectable()
export class DeltasRepository {
  constructor(private readonly database: Database) {}

  /** @param seq number of the change whose time is returned */
  async state(accountId: string, seq: number, types: readonly DeltaType[]): Promise<LogState> {
    const [row] = await this.database.query<{
      newest: number | null;
      writing: number | null;
      at: Date | null;
      pruned: number | null;
      prunedOfAll: number | null;
    }>(STATE, [accountId, seq, types]);
    const { newest = null, writing = null, at = null } = row ?? {};
    return {
      end: Math.min(newest ?? 0, writing ?? Infinity),
      at: at?.getTime() ?? null,
      pruned: row?.pruned ?? 0,
      prunedOfAll: row?.prunedOfAll ?? 0,
    };
  }

  /**
   * Changes of the given types, each named once, after a position, up to the `end` that `state`
   * returned.
   * @param limits largest number of changes, and of body bytes in total; the first change is
   *   returned at any size
   */
  async page(
    accountId: string,
    after: number,
    end: number,
    types: readonly DeltaType[],
    { limit, bytes }: { limit: number; bytes: number },
  ): Promise<LogPage> {
    const text = types.length === DELTA_TYPES.length ? PAGE : PAGE_OF_SOME_TYPES;
    const rows = await this.database.query<PageRow>(text, [accountId, after, end, types, limit]);
    const [first] = rows;
    if (!first) return { changes: [], end: null };
    const changes: LoggedChange[] = [];
    let total = 0;
    for (const { seq, at, object, objectId, event, bytes: length } of rows) {
      if (seq === null) break;
      total += length;
      if (changes.length > 0 && total > bytes) break;
      changes.push({ seq, at: at.getTime(), object, objectId, event });
    }
    const last = changes.at(-1);
    const whole =
      changes.length < limit && changes.length === rows.filter(({ seq }) => seq !== null).length;
    if (whole) return { changes, end: { seq: first.endSeq, at: first.endAt.getTime() } };
    return { changes, end: last ? { seq: last.seq, at: last.at } : null };
  }

  async atOrBefore(accountId: string, seq: number): Promise<Position | undefined> {
    const [row] = await this.database.query<RowOf<Change, 'seq' | 'at'>>(AT_OR_BEFORE, [
      accountId,
      seq,
    ]);
    return row && { seq: row.seq, at: row.at.getTime() };
  }

  /** Number of the first change written at or after `since`. */
  async firstSince(accountId: string, since: Date): Promise<number | undefined> {
    const [row] = await this.database.query<RowOf<Change, 'seq'>>(FIRST_SINCE, [accountId, since]);
    return row?.seq;
  }

  /**
   * Number of the newest change of each account that has one, even if that change is not readable
   * yet.
   */
  async newest(accountIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.database.query<RowOf<Change, 'accountId' | 'seq'>>(NEWEST, [
      accountIds,
    ]);
    return new Map(rows.map(({ accountId, seq }) => [accountId, seq]));
  }
}
