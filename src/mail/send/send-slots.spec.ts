import { SendSlots } from './send-slots.ts';

const LARGE = 36 * 1024 * 1024;
const stays = () => false;

describe('SendSlots', () => {
  it('sends small messages while large ones of other accounts use up the memory', async () => {
    const slots = new SendSlots();
    const { promise: arrival, resolve: arrive } = Promise.withResolvers<string>();
    const large = 'aaaabbbb'
      .split('')
      .map((account) => slots.run(account, LARGE, stays, () => arrival));
    await expect(slots.run('c', 1_000, stays, () => Promise.resolve('sent'))).resolves.toBe('sent');
    arrive('large');
    expect(await Promise.all(large)).toEqual(Array.from({ length: 8 }, () => 'large'));
  });

  it('does not begin a send whose client has disconnected', async () => {
    const work = () => Promise.resolve('sent');
    for (const bytes of [1, LARGE])
      await expect(new SendSlots().run('a', bytes, () => true, work)).rejects.toThrow(
        'client has disconnected',
      );
  });
});
