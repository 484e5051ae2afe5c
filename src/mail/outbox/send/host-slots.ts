import { monotonicMs } from '../../../platform/base/time/clock.ts';
import { BudgetExhaustedError } from '../../../platform/budgets/budget-exhausted-error.ts';

/** A message waits so long for a host whose messages end. */
const WAIT_MS = 1_000;
/** A full host is silent if no message for it has ended for this time. Shorter than `WAIT_MS`. */
const SILENT_MS = 900;
/** When messages for a full host are due again, in seconds; a random part doubles it at most. */
const RETRY_SECONDS = { busy: 2, silent: 15 };

interface Host {
  sending: number;
  /** When the host was idle, or a message for it ended, in monotonic milliseconds. */
  movedMs: number;
  /** Called with whether the waiting message may be sent. In order. */
  waiting: Set<(granted: boolean) => void>;
}

/**
 * Limits how many messages a process sends to one mail server at the same time. So a server that
 * does not answer leaves slots for the messages of other servers.
 */
export class HostSlots {
  readonly #hosts = new Map<string, Host>();

  /** @param most messages for one host at a time */
  constructor(private readonly most: number) {}

  /**
   * Runs `send` as soon as the host has a free slot.
   * @throws {BudgetExhaustedError} if none is free within a second, or at once if the host is
   *   silent; `send` was not called
   */
  async run<T>(host: string, send: () => Promise<T>): Promise<T> {
    await this.#take(host);
    try {
      return await send();
    } finally {
      this.#free(host);
    }
  }

  async #take(name: string): Promise<void> {
    const host = this.#hosts.get(name) ?? {
      sending: 0,
      movedMs: monotonicMs(),
      waiting: new Set(),
    };
    this.#hosts.set(name, host);
    if (host.sending < this.most) {
      host.sending += 1;
      return;
    }
    const granted = !isSilent(host) && (await waitFor(host));
    if (!granted) throw this.#refusal(name, isSilent(host));
  }

  #free(name: string): void {
    const host = this.#hosts.get(name);
    if (!host) return;
    host.movedMs = monotonicMs();
    // The slot goes to the message that has waited longest.
    const [next] = host.waiting;
    if (next) return next(true);
    host.sending -= 1;
    if (host.sending === 0) this.#hosts.delete(name);
  }

  #refusal(host: string, silent: boolean): BudgetExhaustedError {
    const seconds = RETRY_SECONDS[silent ? 'silent' : 'busy'] * (1 + Math.random());
    const why = silent
      ? `${this.most} messages wait for the answer of ${host}`
      : `${this.most} messages are on their way to ${host}`;
    return new BudgetExhaustedError(seconds, seconds, why);
  }
}

const isSilent = ({ movedMs }: Host): boolean => monotonicMs() - movedMs >= SILENT_MS;

/** @returns whether a slot was given within a second */
function waitFor({ waiting }: Host): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (granted: boolean) => {
      clearTimeout(timer);
      waiting.delete(end);
      resolve(granted);
    };
    const timer = setTimeout(() => end(false), WAIT_MS);
    waiting.add(end);
  });
}
