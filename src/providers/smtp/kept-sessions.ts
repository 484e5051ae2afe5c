import type { SmtpLimits } from './smtp-settings.ts';

type KeptLimits = Pick<SmtpLimits, 'idleMs' | 'keptPerKey' | 'surplusMs' | 'kept'>;

/** A connection that can be kept. */
interface Keepable {
  readonly usable: boolean;
  /** Says goodbye; never rejects. */
  quit(): Promise<void>;
}

interface Kept {
  id: string;
  timer: NodeJS.Timeout;
}

/** Connections nobody uses at the moment: few per identity, not many altogether, and none for long. */
export class KeptSessions<Session extends Keepable> {
  /** Oldest first, as sets and maps are in order of insertion. */
  readonly #all = new Map<Session, Kept>();
  readonly #byId = new Map<string, Session[]>();

  constructor(private readonly limits: KeptLimits) {}

  /** The one used last, which is the likeliest to be alive; it is not kept any more. */
  take(id: string): Session | null {
    const session = this.#byId.get(id)?.at(-1);
    if (!session) return null;
    this.drop(session);
    return session.usable ? session : this.take(id);
  }

  /** Keeps it, at the expense of older ones. */
  put(id: string, session: Session): void {
    const { idleMs, keptPerKey, surplusMs, kept } = this.limits;
    const same = this.#byId.get(id) ?? [];
    // Under load many come back at once, to be taken again in a moment.
    const timer = setTimeout(
      () => this.#leave(session),
      same.length < keptPerKey ? idleMs : surplusMs,
    );
    timer.unref();
    this.#all.set(session, { id, timer });
    same.push(session);
    this.#byId.set(id, same);
    const [oldest] = this.#all.size > kept ? this.#all.keys() : [];
    if (oldest) this.#leave(oldest);
  }

  /** Forgets it; one that is not kept is no error. */
  drop(session: Session): void {
    const entry = this.#all.get(session);
    if (!entry) return;
    clearTimeout(entry.timer);
    this.#all.delete(session);
    const rest = (this.#byId.get(entry.id) ?? []).filter((other) => other !== session);
    if (rest.length > 0) this.#byId.set(entry.id, rest);
    else this.#byId.delete(entry.id);
  }

  /** The one unused for longest of those that pass the test; it stays kept. */
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
