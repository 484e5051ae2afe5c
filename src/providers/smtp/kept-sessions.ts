import type { SmtpSession } from './smtp-session.ts';
import type { SmtpLimits } from './smtp-settings.ts';

type KeptLimits = Pick<SmtpLimits, 'idleMs' | 'keptPerKey' | 'surplusMs' | 'kept'>;

interface Kept {
  id: string;
  timer: NodeJS.Timeout;
}

/** Connections nobody uses at the moment: few per identity, not many altogether, and none for long. */
export class KeptSessions {
  readonly #limits: KeptLimits;
  /** Oldest first, as sets and maps are in order of insertion. */
  readonly #all = new Map<SmtpSession, Kept>();
  readonly #byId = new Map<string, SmtpSession[]>();

  constructor(limits: KeptLimits) {
    this.#limits = limits;
  }

  /** The one used last, which is the likeliest to be alive; it is not kept any more. */
  take(id: string): SmtpSession | null {
    const session = this.#byId.get(id)?.at(-1);
    if (!session) return null;
    this.drop(session);
    return session.usable ? session : this.take(id);
  }

  /** Keeps it, at the expense of older ones. */
  put(id: string, session: SmtpSession): void {
    const { idleMs, keptPerKey, surplusMs, kept } = this.#limits;
    const same = this.#byId.get(id) ?? [];
    // Under load many come back at once, to be taken again in a moment.
    const timer = setTimeout(() => this.#leave(session), same.length < keptPerKey ? idleMs : surplusMs);
    timer.unref();
    this.#all.set(session, { id, timer });
    same.push(session);
    this.#byId.set(id, same);
    const [oldest] = this.#all.size > kept ? this.#all.keys() : [];
    if (oldest) this.#leave(oldest);
  }

  /** Forgets it; one that is not kept is no error. */
  drop(session: SmtpSession): void {
    const entry = this.#all.get(session);
    if (!entry) return;
    clearTimeout(entry.timer);
    this.#all.delete(session);
    const rest = (this.#byId.get(entry.id) ?? []).filter((other) => other !== session);
    if (rest.length > 0) this.#byId.set(entry.id, rest);
    else this.#byId.delete(entry.id);
  }

  /** Forgets all of them. */
  takeAll(): SmtpSession[] {
    const all = [...this.#all.keys()];
    for (const session of all) this.drop(session);
    return all;
  }

  #leave(session: SmtpSession): void {
    this.drop(session);
    void session.quit();
  }
}
