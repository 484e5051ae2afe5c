/** A delivery that was let in. */
export interface Passage {
  /** Call it when the receiver has answered, or the request has failed. */
  answered(): void;
  /** Call it when the result is stored, or will not be stored any more. */
  left(): void;
}

/** Limits of a `DeliveryWindow`. */
export interface WindowLimits {
  /** Most events in the window. One delivery is always let in. */
  events: number;
  /** A delivery that waits longer for its answer no longer counts, in milliseconds. */
  slowMs: number;
}

/**
 * Bounds how many events a process has sent without having stored the result: if the process dies,
 * these are repeated (docs/adr/0161). Further deliveries wait, and begin in the order in which they
 * asked. While a receiver takes its time, its delivery makes room for others, because waiting costs
 * the process nothing. It counts again when it is answered.
 */
export class DeliveryWindow {
  #events = 0;
  readonly #waiting: { events: number; begin: () => void }[] = [];

  constructor(private readonly limits: WindowLimits) {}

  /** Resolves when so many events may be sent. */
  async enter(events: number): Promise<Passage> {
    if (this.#waiting.length > 0 || !this.#fits(events))
      await new Promise<void>((begin) => this.#waiting.push({ events, begin }));
    else this.#events += events;
    return this.#passage(events);
  }

  #passage(events: number): Passage {
    let counts = true;
    const count = (now: boolean) => {
      if (now !== counts) this.#change(now ? events : -events);
      counts = now;
    };
    const timer = setTimeout(() => count(false), this.limits.slowMs);
    return {
      answered: () => {
        clearTimeout(timer);
        count(true);
      },
      left: () => {
        clearTimeout(timer);
        count(false);
      },
    };
  }

  #fits(events: number): boolean {
    return this.#events === 0 || this.#events + events <= this.limits.events;
  }

  #change(by: number): void {
    this.#events += by;
    for (let [next] = this.#waiting; next && this.#fits(next.events); [next] = this.#waiting) {
      this.#waiting.shift();
      this.#events += next.events;
      next.begin();
    }
  }
}
