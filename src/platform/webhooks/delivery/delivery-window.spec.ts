import { jest } from '@jest/globals';
import { DeliveryWindow } from './delivery-window.ts';

describe('DeliveryWindow', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  const limits = { events: 100, slowMs: 15 };

  /** Asks for a passage, and notes when it is let in. */
  function asks(window: DeliveryWindow, events: number, name: string, letIn: string[]) {
    return window.enter(events).then((passage) => {
      letIn.push(name);
      return passage;
    });
  }
  const settled = () => jest.advanceTimersByTimeAsync(0);

  it('lets deliveries in, in the order in which they asked, as results of others are stored', async () => {
    const window = new DeliveryWindow(limits);
    const letIn: string[] = [];
    const first = await asks(window, 60, 'first', letIn);
    const second = await asks(window, 40, 'second', letIn);
    void asks(window, 50, 'third', letIn);
    void asks(window, 10, 'fourth', letIn);
    first.answered();
    await settled();
    expect(letIn).toEqual(['first', 'second']);
    second.answered();
    second.left();
    await settled();
    expect(letIn).toEqual(['first', 'second']);
    first.left();
    await settled();
    expect(letIn).toEqual(['first', 'second', 'third', 'fourth']);
  });

  it('lets in a delivery that is larger than the window when nothing else is in it', async () => {
    const window = new DeliveryWindow({ ...limits, events: 10 });
    const letIn: string[] = [];
    const large = await asks(window, 100, 'large', letIn);
    void asks(window, 1, 'small', letIn);
    await settled();
    expect(letIn).toEqual(['large']);
    large.left();
    await settled();
    expect(letIn).toEqual(['large', 'small']);
  });

  it('makes room while a receiver takes its time, and counts the delivery again when it is answered', async () => {
    const window = new DeliveryWindow(limits);
    const letIn: string[] = [];
    const slow = await asks(window, 100, 'slow', letIn);
    const next = asks(window, 100, 'next', letIn);
    await jest.advanceTimersByTimeAsync(limits.slowMs);
    expect(letIn).toEqual(['slow', 'next']);
    slow.answered();
    (await next).left();
    void asks(window, 100, 'last', letIn);
    await settled();
    expect(letIn).toEqual(['slow', 'next']);
    slow.left();
    slow.left();
    await settled();
    expect(letIn).toEqual(['slow', 'next', 'last']);
  });
});
