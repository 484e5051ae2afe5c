import { MailboxSlots } from './mailbox-slots.ts';
import type { BudgetPriority } from './budget-limit.ts';

const MOST = 4;

describe('MailboxSlots', () => {
  let slots: MailboxSlots;
  let begun: string[];
  let ends: Map<string, () => void>;
  beforeEach(() => {
    slots = new MailboxSlots();
    begun = [];
    ends = new Map();
  });

  function run(name: string, priority: BudgetPriority, mailbox = 'ada', signal?: AbortSignal) {
    const work = () =>
      new Promise<void>((resolve) => {
        begun.push(name);
        ends.set(name, resolve);
      });
    return slots.run(mailbox, MOST, priority, work, signal);
  }
  async function end(name: string): Promise<void> {
    ends.get(name)?.();
    await new Promise(setImmediate);
  }

  it('runs as much work of a mailbox as there are slots, and other mailboxes beside it', async () => {
    for (const name of ['1', '2', '3', '4', '5']) void run(name, 'interactive');
    void run('bo', 'interactive', 'bo');
    expect(begun).toEqual(['1', '2', '3', '4', 'bo']);
    await end('2');
    expect(begun).toEqual(['1', '2', '3', '4', 'bo', '5']);
  });

  it('gives a free slot to the highest priority, and in order of arrival within it', async () => {
    for (const name of ['1', '2', '3', '4']) void run(name, 'interactive');
    void run('history', 'history');
    void run('first change', 'interactive');
    void run('second change', 'interactive');
    void run('message', 'send');
    for (const name of ['1', '2', '3', '4']) await end(name);
    expect(begun.slice(4)).toEqual(['message', 'first change', 'second change', 'history']);
  });

  it('leaves one slot free of history', async () => {
    for (const name of ['1', '2', '3', '4']) void run(name, 'history');
    expect(begun).toEqual(['1', '2', '3']);
    void run('message', 'send');
    expect(begun).toEqual(['1', '2', '3', 'message']);
    await end('message');
    expect(begun).toHaveLength(4);
    await end('1');
    expect(begun.at(-1)).toBe('4');
  });

  it('does not run work whose caller gave up while it waited', async () => {
    for (const name of ['1', '2', '3', '4']) void run(name, 'send');
    const caller = new AbortController();
    const waiting = run('5', 'send', 'ada', caller.signal);
    caller.abort(new Error('given up'));
    await expect(waiting).rejects.toThrow('given up');
    await end('1');
    expect(begun).toHaveLength(4);
  });

  it('frees the slot of work that failed', async () => {
    const failing = () => Promise.reject(new Error('broken'));
    for (let times = 0; times < 5; times += 1)
      await expect(slots.run('ada', 1, 'send', failing)).rejects.toThrow('broken');
    void run('next', 'history');
    expect(begun).toEqual(['next']);
  });
});
