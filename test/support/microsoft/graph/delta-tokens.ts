import { randomBytes } from 'node:crypto';
import type { StubSettings } from '../settings.ts';
import { GraphError, graphErrors, type Json } from '../http/types.ts';
import { withQuery } from './odata.ts';

/**
 * What Graph answers for a link that it does not know any more: 410; 404 for `UnknownError`, and
 * 400 for `ErrorInvalidSyncStateData`.
 */
export type LostLink =
  | 'syncStateNotFound'
  | 'resyncRequired'
  | 'UnknownError'
  | 'ErrorInvalidSyncStateData';

/** A round of a delta query that has more pages: what it will still answer. */
interface OpenRound<Entry> {
  entries: Entry[];
  next: number;
}

/** What a token of a delta query stands for. */
export interface DeltaState<Entry, Mark> {
  /** The list the token belongs to; a token of another list is refused. */
  list: string;
  /** Query of the first request of the round. */
  query: URLSearchParams;
  /** What the round reported: the number of the last change, or a snapshot. */
  mark: Mark;
  /** Absent for a token that starts a new round. */
  open?: OpenRound<Entry>;
}

interface DeltaRequest<Entry, Mark> {
  list: string;
  /** Absolute address of the delta query, without its query. */
  url: string;
  query: URLSearchParams;
  pageSize: number;
  /** Entries of the first round. */
  first(): Round<Entry, Mark>;
  /** Entries for what changed after a round. */
  since(mark: Mark, query: URLSearchParams): Round<Entry, Mark>;
  /** An entry as part of the answer, never split over two pages; null leaves it out. */
  show(entry: Entry, query: URLSearchParams): Json | Json[] | null;
}

interface Round<Entry, Mark> {
  entries: Entry[];
  mark: Mark;
}

/** Tokens of delta queries: what they stand for, and whether they have expired. */
export class DeltaTokens {
  /** Lists of which a change is not shown yet, and when a query first found it. */
  readonly #lagging = new Map<string, number>();
  readonly #states = new Map<string, DeltaState<unknown, unknown>>();
  readonly #expiredTokens = new Map<string, LostLink>();

  constructor(
    private readonly settings: Pick<StubSettings, 'repeatsEntries' | 'deltaLagMs'>,
    private readonly now: () => number,
  ) {}

  /** Makes all tokens given out so far expire. Queries with them get this code. */
  expire(code: LostLink): void {
    for (const token of this.#states.keys()) this.#expiredTokens.set(token, code);
    this.#states.clear();
  }

  /** One page of a delta query, with its nextLink or deltaLink. */
  answer<Entry, Mark>(request: DeltaRequest<Entry, Mark>): Json {
    const token = tokenOf(request.query);
    const state = token === null ? this.#begin(request) : this.#resume(request, token);
    const { entries, next } = state.open ?? { entries: [], next: 0 };
    const value: Json[] = [];
    let at = next;
    for (; at < entries.length && value.length < request.pageSize; at += 1) {
      const shown = request.show(entries[at] as Entry, state.query);
      if (shown !== null) value.push(...[shown].flat());
    }
    if (this.settings.repeatsEntries && value[0] !== undefined) value.push(value[0]);
    const more = at < entries.length;
    const { list, query, mark } = state;
    const following: DeltaState<Entry, Mark> = more
      ? { list, query, mark, open: { entries, next: at } }
      : { list, query, mark };
    const link = this.#link(request.url, more ? '$skiptoken' : '$deltatoken', following);
    return { value, [more ? '@odata.nextLink' : '@odata.deltaLink']: link };
  }

  #begin<Entry, Mark>(request: DeltaRequest<Entry, Mark>): DeltaState<Entry, Mark> {
    const { entries, mark } = request.first();
    return { list: request.list, query: request.query, mark, open: { entries, next: 0 } };
  }

  #resume<Entry, Mark>(request: DeltaRequest<Entry, Mark>, token: string): DeltaState<Entry, Mark> {
    const expired = this.#expiredTokens.get(token);
    if (expired === 'resyncRequired') throw graphErrors.resyncRequired();
    if (expired === 'UnknownError') throw new GraphError(404, expired, '');
    if (expired === 'syncStateNotFound') throw graphErrors.syncStateNotFound();
    const state = this.#states.get(token) as DeltaState<Entry, Mark> | undefined;
    if (!state || state.list !== request.list) {
      throw new GraphError(400, 'ErrorInvalidSyncStateData', 'The sync state data is invalid.');
    }
    if (state.open) return state;
    const { entries, mark } = request.since(state.mark, state.query);
    if (entries.length > 0 && this.#lags(state.list)) return state;
    return { ...state, mark, open: { entries, next: 0 } };
  }

  /** Whether the changes of a list are not shown yet, although a query has found them. */
  #lags(list: string): boolean {
    const { deltaLagMs } = this.settings;
    const foundAt = this.#lagging.get(list) ?? this.now();
    const lags = this.now() - foundAt < deltaLagMs;
    if (lags) this.#lagging.set(list, foundAt);
    else this.#lagging.delete(list);
    return lags;
  }

  #link(url: string, name: string, state: DeltaState<unknown, unknown>): string {
    const token = randomBytes(48).toString('base64url');
    this.#states.set(token, state);
    return withQuery(url, new URLSearchParams(), { [name]: token });
  }
}

const tokenOf = (query: URLSearchParams): string | null =>
  query.get('$deltatoken') ?? query.get('$skiptoken') ?? query.get('$deltaToken');
