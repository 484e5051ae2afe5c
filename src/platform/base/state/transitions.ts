import { DomainError } from '../errors/domain-error.ts';

/** A table of moves: for each state the states that may follow it. An empty list is a final state. */
export type Transitions<S extends string> = Readonly<Record<S, readonly S[]>>;

/** A move the table does not know: a bug or a lost race, never a client's fault alone. */
export class IllegalTransitionError extends DomainError {
  constructor(from: string, to: string) {
    super('state.illegal-transition', 'conflict', `Cannot move from ${from} to ${to}`);
  }
}

/** The states from which the table allows a move to `to`. */
export function sourcesOf<S extends string>(table: Transitions<S>, to: S): S[] {
  return (Object.keys(table) as S[]).filter((from) => table[from].includes(to));
}

/** Whether the table allows the move. */
export function canTransition<S extends string>(table: Transitions<S>, from: S, to: S): boolean {
  return table[from].includes(to);
}

/** @throws {IllegalTransitionError} unless the table allows the move */
export function assertTransition<S extends string>(table: Transitions<S>, from: S, to: S): void {
  if (!canTransition(table, from, to)) throw new IllegalTransitionError(from, to);
}
