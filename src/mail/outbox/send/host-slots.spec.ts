import { setTimeout as delay } from 'node:timers/promises';
import { HostSlots } from './host-slots.ts';

const never = new Promise<never>(() => undefined);

describe('HostSlots', () => {
  it('refuses a message while no message for its host ends, and counts hosts apart', async () => {
    const slots = new HostSlots(2);
    for (let n = 0; n < 2; n += 1) void slots.run('a', () => never);
    await expect(slots.run('a', () => Promise.resolve())).rejects.toMatchObject({
      message: '2 messages wait for the answer of a',
      code: 'rate-limited',
    });
    expect(await slots.run('b', () => Promise.resolve('sent'))).toBe('sent');
  });

  it('lets messages wait in order while messages for their host end', async () => {
    const slots = new HostSlots(1);
    const ends: string[] = [];
    const first = slots.run('a', () => delay(20).then(() => ends.push('first')));
    await slots
      .run('a', () => Promise.reject(new Error('failed')))
      .catch(() => ends.push('failed'));
    await first;
    expect(ends).toEqual(['first', 'failed']);
  });
});
