import { randomBytes } from 'node:crypto';
import { GraphError, graphErrors, type Json } from '../http/types.ts';
import { withQuery } from './odata.ts';

/** A round of a delta query that has more pages: what it will still answer. */
interface OpenRound<Entry> {
  entries: Entry[];
  next: number;
}

/** What a token of a delta query stands for. */
export interface DeltaState<Entry> {
  /** The list the token belongs to; a token of another list is refused. */
  list: string;
  /** Query of the first request of the round. */
  query: URLSearchParams;
  /** Number of the last change of the log that is part of the round. */
  seq: number;
  /** Absent for a token that starts a new round. */
  open?: OpenRound<Entry>;
}

interface DeltaRequest<Entry> {
  list: string;
  /** Absolute address of the delta query, without its query. */
  url: string;
  query: URLSearchParams;
  pageSize: number;
  /** Entries of the first round and number of the newest change. */
  first(): { entries: Entry[]; seq: number };
  /** Entries for what changed after `seq`, and number of the newest change. */
  since(seq: number, query: URLSearchParams): { entries: Entry[]; seq: number };
  /** An entry as part of the answer; `null` leaves it out. */
  show(entry: Entry, query: URLSearchParams): Json | null;
}

/** Tokens of delta queries: what they stand for, and whether they have expired. */
export class DeltaTokens {
  readonly #states = new Map<string, DeltaState<unknown>>();
  readonly #expiredTokens = new Map<string, 'syncStateNotFound' | 'resyncRequired'>();

  /** Makes all tokens given out so far expire. Queries with them get 410 and this code. */
  expire(code: 'syncStateNotFound' | 'resyncRequired'): void {
    for (const token of this.#states.keys()) this.#expiredTokens.set(token, code);
    this.#states.clear();
  }

  /** One page of a delta query, with its nextLink or deltaLink. */
  answer<Entry>(request: DeltaRequest<Entry>): Json {
    const token = tokenOf(request.query);
    const state = token === null ? this.#begin(request) : this.#resume(request, token);
    const { entries, next } = state.open ?? { entries: [], next: 0 };
    const until = next + request.pageSize;
    const value = entries
      .slice(next, until)
      .map((entry) => request.show(entry, state.query))
      .filter((entry) => entry !== null);
    const more = until < entries.length;
    const { list, query, seq } = state;
    const following: DeltaState<Entry> = more
      ? { list, query, seq, open: { entries, next: until } }
      : { list, query, seq };
    const link = this.#link(request.url, more ? '$skiptoken' : '$deltatoken', following);
    return { value, [more ? '@odata.nextLink' : '@odata.deltaLink']: link };
  }

  #begin<Entry>(request: DeltaRequest<Entry>): DeltaState<Entry> {
    const { entries, seq } = request.first();
    return { list: request.list, query: request.query, seq, open: { entries, next: 0 } };
  }

  #resume<Entry>(request: DeltaRequest<Entry>, token: string): DeltaState<Entry> {
    const expired = this.#expiredTokens.get(token);
    if (expired === 'resyncRequired') throw graphErrors.resyncRequired();
    if (expired) throw graphErrors.syncStateNotFound();
    const state = this.#states.get(token) as DeltaState<Entry> | undefined;
    if (!state || state.list !== request.list) {
      throw new GraphError(400, 'ErrorInvalidSyncStateData', 'The sync state data is invalid.');
    }
    if (state.open) return state;
    const { entries, seq } = request.since(state.seq, state.query);
    return { ...state, seq, open: { entries, next: 0 } };
  }

  #link(url: string, name: string, state: DeltaState<unknown>): string {
    const token = randomBytes(48).toString('base64url');
    this.#states.set(token, state);
    return withQuery(url, new URLSearchParams(), { [name]: token });
  }
}

const tokenOf = (query: URLSearchParams): string | null =>
  query.get('$deltatoken') ?? query.get('$skiptoken') ?? query.get('$deltaToken');
