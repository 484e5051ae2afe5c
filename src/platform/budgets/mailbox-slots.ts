import { BUDGET_PRIORITIES, type BudgetPriority } from './budget-limit.ts';

interface Waiting {
  priority: BudgetPriority;
  enter: () => void;
}

interface Slots {
  running: number;
  /** Running work of the priority `history`. */
  history: number;
  waiting: Waiting[];
}

/**
 * Limits how many requests for one mailbox this process makes at the same time. Free slots go to
 * the highest priority first, and in order of arrival within a priority. `history` leaves one slot
 * free if there is more than one, so that a message need not wait for it.
 */
export class MailboxSlots {
  readonly #mailboxes = new Map<string, Slots>();

  /**
   * Runs work as soon as the mailbox has a free slot.
   * @param most slots of the mailbox, at least 1
   * @param signal ends the wait; the work does not run then
   * @throws the error of the work, or the reason of the signal
   */
  async run<T>(
    mailbox: string,
    most: number,
    priority: BudgetPriority,
    work: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    signal?.throwIfAborted();
    const slots = this.#mailboxes.get(mailbox) ?? { running: 0, history: 0, waiting: [] };
    this.#mailboxes.set(mailbox, slots);
    if (fits(slots, most, priority)) occupy(slots, priority);
    else await waitFor(slots, priority, signal);
    try {
      return await work();
    } finally {
      slots.running -= 1;
      if (priority === 'history') slots.history -= 1;
      admit(slots, most);
      if (slots.running === 0) this.#mailboxes.delete(mailbox);
    }
  }
}

function fits({ running, history }: Slots, most: number, priority: BudgetPriority): boolean {
  return running < most && (priority !== 'history' || history < Math.max(1, most - 1));
}

function occupy(slots: Slots, priority: BudgetPriority): void {
  slots.running += 1;
  if (priority === 'history') slots.history += 1;
}

function waitFor(slots: Slots, priority: BudgetPriority, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      slots.waiting = slots.waiting.filter((one) => one !== waiting);
      reject(signal?.reason as Error);
    };
    const waiting: Waiting = {
      priority,
      enter: () => {
        signal?.removeEventListener('abort', leave);
        resolve();
      },
    };
    signal?.addEventListener('abort', leave, { once: true });
    slots.waiting.push(waiting);
  });
}

/** Lets waiting work in. Its slot is occupied here, so that new work cannot overtake it. */
function admit(slots: Slots, most: number): void {
  for (const priority of BUDGET_PRIORITIES) {
    for (const one of slots.waiting.filter((waiting) => waiting.priority === priority)) {
      if (!fits(slots, most, priority)) break;
      slots.waiting = slots.waiting.filter((waiting) => waiting !== one);
      occupy(slots, priority);
      one.enter();
    }
  }
}
