import type { SmtpLimits } from './smtp-settings.ts';

type KeptLimits = Pick<SmtpLimits, 'idleMs' | 'keptPerKey' | 'furtherIdleMs' | 'kept'>;

/** A connection that can be kept. */
interface Keepable {
  readonly usable: boolean;
  /** Closes the connection politely; never rejects. */
  quit(): Promise<void>;
}

interface Kept {
  id: string;
  timer: NodeJS.Timeout;
}

/**
 * Unused connections. Their number is limited per identity and altogether, and each is kept only
 * for a short time.
 */
export class KeptSessions<Session extends Keepable> {
  /** Oldest first: maps keep the order of insertion. */
  readonly #all = new Map<Session, Kept>();
  readonly #byId = new Map<string, Session[]>();

  constructor(private readonly limits: KeptLimits) {}

  /**
   * Takes out the most recently used connection, which is the most likely to be alive. `null` if
   * none is usable.
   */
  take(id: string): Session | null {
    const session = this.#byId.get(id)?.at(-1);
    if (!session) return null;
    this.drop(session);
    return session.usable ? session : this.take(id);
  }

  /** Keeps a connection; closes the oldest one if there are too many. */
  put(id: string, session: Session): void {
    const { idleMs, keptPerKey, furtherIdleMs, kept } = this.limits;
    const same = this.#byId.get(id) ?? [];
    // Under load many connections come back at once and are needed again soon, so further ones are
    // kept briefly instead of being closed.
    const timer = setTimeout(
      () => this.#leave(session),
      same.length < keptPerKey ? idleMs : furtherIdleMs,
    );
    timer.unref();
    this.#all.set(session, { id, timer });
    same.push(session);
    this.#byId.set(id, same);
    const [oldest] = this.#all.size > kept ? this.#all.keys() : [];
    if (oldest) this.#leave(oldest);
  }

  /** Removes a connection without closing it. An unknown connection is not an error. */
  drop(session: Session): void {
    const entry = this.#all.get(session);
    if (!entry) return;
    clearTimeout(entry.timer);
    this.#all.delete(session);
    const rest = (this.#byId.get(entry.id) ?? []).filter((other) => other !== session);
    if (rest.length > 0) this.#byId.set(entry.id, rest);
    else this.#byId.delete(entry.id);
  }

  /** Finds the longest-unused connection that passes the test. It stays kept. */
  find(test: (session: Session) => boolean): Session | null {
    for (const session of this.#all.keys()) if (test(session)) return session;
    return null;
  }

  takeAll(): Session[] {
    const all = [...this.#all.keys()];
    for (const session of all) this.drop(session);
    return all;
  }

  #leave(session: Session): void {
    this.drop(session);
    void session.quit();
  }
}
