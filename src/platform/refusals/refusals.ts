/** Why requests were refused: wrong credentials, or a limit. */
export type RefusalKind = 'login' | 'limit';

/** One refused request, without its sender. */
export type Refused =
  /** `of` is what was wrong. */
  | { kind: 'login'; of: 'access-token' | 'secret' | 'sign-in' | 'too-many' }
  /** `by` is the kind of sender. */
  | { kind: 'limit'; by: 'account' | 'application' | 'client' };

/** Who sent a refused request, as far as it is known. */
export interface Sender {
  /** Id of the account. */
  account?: string | undefined;
  /** Id of the application. */
  application?: string | undefined;
  /** Client id that the request named, which may be anybody's. */
  clientId?: string | undefined;
  /** SHA-256 of the access token. Whose it was is looked up later. */
  tokenHash?: Buffer | undefined;
  /** Network address. */
  client?: string | undefined;
}

/** Refused requests of one sender. */
export interface CountedRefusals {
  kind: RefusalKind;
  sender: Sender;
  count: number;
}

/** Senders that a process counts apart between two stores. Further ones appear in metrics only. */
const MOST_SENDERS = 1_000;
/** Senders that a process stores at a time: those with the most refused requests. */
const MOST_STORED = 20;
const LONGEST_CLIENT_ID = 100;

const keyOf = (kind: RefusalKind, sender: Sender): string =>
  JSON.stringify([
    kind,
    sender.account,
    sender.application,
    sender.clientId,
    sender.tokenHash?.toString('base64'),
    sender.client,
  ]);

/** What a process has refused lately, by sender. Requests that are served cost nothing. */
export class Refusals {
  #counts = new Map<string, CountedRefusals>();
  readonly #listeners: ((refused: Refused) => void)[] = [];

  /** Calls `listener` for each refused request from now on. It must not throw. */
  listen(listener: (refused: Refused) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Counts a request with wrong credentials.
   * @param of what was wrong
   */
  login(of: Extract<Refused, { kind: 'login' }>['of'], sender: Sender): void {
    this.#count({ kind: 'login', of }, sender);
  }

  /** Counts a request above a limit. */
  limit(sender: Sender): void {
    const by = sender.account ? 'account' : sender.application ? 'application' : 'client';
    this.#count({ kind: 'limit', by }, sender);
  }

  /** Takes the senders with the most refused requests since the last call. */
  take(): CountedRefusals[] {
    if (this.#counts.size === 0) return [];
    const all = [...this.#counts.values()];
    this.#counts = new Map();
    return all.toSorted((one, other) => other.count - one.count).slice(0, MOST_STORED);
  }

  #count(refused: Refused, given: Sender): void {
    for (const listener of this.#listeners) listener(refused);
    const { kind } = refused;
    const isShort = (given.clientId?.length ?? 0) <= LONGEST_CLIENT_ID;
    const sender = isShort ? given : { ...given, clientId: undefined };
    const key = keyOf(kind, sender);
    const counted = this.#counts.get(key);
    if (counted) counted.count += 1;
    else if (this.#counts.size < MOST_SENDERS) this.#counts.set(key, { kind, sender, count: 1 });
  }
}

/** The refusals of this process. */
export const refusals = new Refusals();
