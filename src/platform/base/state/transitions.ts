import { DomainError } from '../errors/domain-error.ts';

/** Lists for each state the states that may follow it. A final state has an empty list. */
export type Transitions<S extends string> = Readonly<Record<S, readonly S[]>>;

/**
 * A transition that the table does not allow. It shows a bug or a lost race, never just a mistake
 * of the client.
 */
export class IllegalTransitionError extends DomainError {
  constructor(from: string, to: string) {
    super('state.illegal-transition', 'conflict', `Cannot change the state from ${from} to ${to}`);
  }
}

/** Returns the states from which the table allows a transition to `to`. */
export function sourcesOf<S extends string>(table: Transitions<S>, to: S): S[] {
  return (Object.keys(table) as S[]).filter((from) => table[from].includes(to));
}

/** Whether the table allows the transition. */
export function canTransition<S extends string>(table: Transitions<S>, from: S, to: S): boolean {
  return table[from].includes(to);
}

/** @throws {IllegalTransitionError} if the table does not allow the transition */
export function assertTransition<S extends string>(table: Transitions<S>, from: S, to: S): void {
  if (!canTransition(table, from, to)) throw new IllegalTransitionError(from, to);
}
