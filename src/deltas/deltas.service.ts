import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../platform/auth/principal.ts';
import { PageTooLargeError } from '../platform/database/listing.ts';
import { type Attributes, ChangedObjects } from './changed-objects.ts';
import {
  BEGINNING,
  FROM_THE_START,
  fromCursor,
  type Position,
  toCursor,
} from '../platform/waiting/cursor.ts';
import { DELTA_TYPES, type DeltaType } from '../platform/changes/delta-types.ts';
import { ExpiredCursorError, InvalidCursorError } from './deltas.errors.ts';
import { DeltasRepository, type LogState } from './deltas.repository.ts';
import { type RolledChange, rollUp } from './roll-up.ts';

export interface DeltaRequest {
  cursor: string;
  types: readonly DeltaType[];
  view?: 'expanded' | undefined;
  /** Most changes to read. Several changes of one object become one delta. */
  limit: number;
  /** Most bytes of message bodies in total; a single body may be larger. Default 16 MiB. */
  bytes?: number;
}

/** All changes of one object in a page, as one delta. */
export interface Delta extends Pick<RolledChange, 'event' | 'object'> {
  id: string;
  /** A client that has this delta and all deltas before it may continue from here. */
  cursor: string;
  /** The current object; absent if it no longer exists. */
  attributes?: Attributes;
}

/** Changes after a cursor. */
export interface DeltaPage {
  start: string;
  /** Cursor to continue from; equals `start` if nothing has changed. */
  end: string;
  deltas: Delta[];
  more: boolean;
  /** Number of the last change that was readable. */
  seenTo: number;
}

const MOST_BYTES = 16 * 1024 * 1024;

/** Reads the changes of an account. */
@Injectable()
export class DeltasService {
  constructor(
    private readonly repository: DeltasRepository,
    private readonly objects: ChangedObjects,
  ) {}

  /**
   * A cursor after all changes so far. Changes of transactions that are still open come after it.
   */
  async latestCursor({ accountId }: AccountPrincipal): Promise<string> {
    const { end, prunedOfAll } = await this.repository.state(accountId, 0, DELTA_TYPES);
    return toCursor(accountId, await this.#positionAt(accountId, end, prunedOfAll));
  }

  /**
   * A cursor before the first change at or after `since`. A time before the kept log means the
   * beginning of that log.
   */
  async cursorAt({ accountId }: AccountPrincipal, since: Date): Promise<string> {
    const { end, prunedOfAll } = await this.repository.state(accountId, 0, DELTA_TYPES);
    const first = await this.repository.firstSince(accountId, since);
    const last = Math.min(end, (first ?? Infinity) - 1);
    return toCursor(accountId, await this.#positionAt(accountId, last, prunedOfAll));
  }

  async #positionAt(accountId: string, seq: number, pruned: number): Promise<Position> {
    const kept = await this.repository.atOrBefore(accountId, seq);
    if (kept) return kept;
    return pruned > 0 ? { seq: pruned, at: 0 } : BEGINNING;
  }

  /**
   * The next changes, one delta per object, with the current objects.
   * @throws {InvalidCursorError} @throws {ExpiredCursorError}
   */
  async read(account: AccountPrincipal, request: DeltaRequest): Promise<DeltaPage> {
    const { accountId } = account;
    const { cursor, types, bytes = MOST_BYTES } = request;
    const position = cursor === FROM_THE_START ? null : fromCursor(accountId, cursor);
    if (position === undefined) throw new InvalidCursorError();
    const after = position?.seq ?? 0;
    const state = await this.repository.state(accountId, after, types);
    if (position) assertKept(position, state);
    for (let limit = request.limit; ; limit = Math.max(1, Math.floor(limit / 2))) {
      const page = await this.repository.page(accountId, after, state.end, types, { limit, bytes });
      try {
        const end = page.end ? toCursor(accountId, page.end) : cursor;
        return {
          start: cursor,
          end,
          deltas: await this.#withObjects(account, rollUp(page.changes), cursor, request.view),
          more: page.end !== null && page.end.seq < state.end,
          seenTo: state.end,
        };
      } catch (error) {
        if (!(error instanceof PageTooLargeError)) throw error;
      }
    }
  }

  async #withObjects(
    account: AccountPrincipal,
    changes: readonly RolledChange[],
    start: string,
    view: 'expanded' | undefined,
  ): Promise<Delta[]> {
    const there = changes.filter(({ event }) => event !== 'delete');
    const found = new Map<DeltaType, ReadonlyMap<string, Attributes> | undefined>();
    for (const [type, ofType] of Map.groupBy(there, ({ object }) => object)) {
      const ids = ofType.map(({ objectId }) => objectId);
      found.set(type, await this.objects.read(account, type, ids, view));
    }
    return changes.flatMap(({ object, objectId: id, event, readTo }): Delta[] => {
      const cursor = readTo ? toCursor(account.accountId, readTo) : start;
      const ofType = found.get(object);
      const attributes = ofType?.get(id);
      if (event !== 'delete' && attributes) return [{ id, object, event, cursor, attributes }];
      if (!ofType || event === 'delete') return [{ id, object, event, cursor }];
      // The object may exist, but this token may not see it.
      if (this.objects.mayHide(account, object)) return [];
      // The log may still list the object as changed, but it no longer exists.
      return [{ id, object, event: 'delete', cursor }];
    });
  }
}

/**
 * @throws {InvalidCursorError} if the position never existed or was lost in a database restore
 * @throws {ExpiredCursorError} if changes after the position have been deleted
 */
function assertKept({ seq, at }: Position, state: LogState): void {
  if (seq < state.pruned) throw new ExpiredCursorError();
  if (seq === 0 || state.at === at) return;
  // The change itself was deleted, but no change of the requested types after it.
  if (state.at === null && seq <= state.prunedOfAll) return;
  throw new InvalidCursorError();
}
