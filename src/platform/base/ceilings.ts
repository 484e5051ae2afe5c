import { ConflictError } from './errors/domain-error.ts';

/** Something that accounts and applications store, and the most that one of them may store. */
export interface Ceiling {
  /** The variable that sets the limit. */
  setting: string;
  /** 0 = no limit. */
  limit: number;
}

/** An account or an application has stored the most that this server allows. */
export class CeilingReachedError extends ConflictError {
  /** @param advice what to do, such as `delete one first` */
  constructor(what: string, { setting, limit }: Ceiling, advice: string) {
    super(
      'quota.ceiling',
      `${what}: there are ${limit} already, the most that this server allows (${setting}): ${advice}`,
      { limit },
    );
  }
}

/**
 * Requests that arrive at the same moment may exceed a limit by their number.
 * @param stored how many there are
 * @throws {CeilingReachedError} if one more would be too many
 */
export function assertBelow(ceiling: Ceiling, stored: number, what: string, advice: string): void {
  if (ceiling.limit > 0 && stored >= ceiling.limit)
    throw new CeilingReachedError(what, ceiling, advice);
}
