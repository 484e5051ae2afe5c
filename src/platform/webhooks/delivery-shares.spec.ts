import { DeliveryShares } from './delivery-shares.ts';

describe('DeliveryShares', () => {
  it('limits slow webhooks together, and lets each webhook have one delivery', () => {
    const shares = new DeliveryShares({ perApplication: 100, slow: 2 });
    const ends = [shares.take('a', 'one'), shares.take('a', 'one')];
    expect(ends).toEqual([expect.any(Function), expect.any(Function)]);
    expect(shares.take('a', 'one')).toBeNull();
    const other = shares.take('b', 'other');
    expect(other).not.toBeNull();
    expect(shares.take('b', 'other')).toBeNull();
    shares.note('other', 50);
    expect(shares.take('b', 'other')).not.toBeNull();
    shares.note('other', 5_000);
    expect(shares.take('b', 'other')).toBeNull();
    for (const end of [...ends, other]) end?.();
    expect(shares.take('a', 'one')).not.toBeNull();
  });

  it('limits the deliveries of one application, however fast they are', () => {
    const shares = new DeliveryShares({ perApplication: 2, slow: 100 });
    for (const webhook of ['one', 'two']) {
      shares.note(webhook, 10);
      expect(shares.take('a', webhook)).not.toBeNull();
    }
    expect(shares.take('a', 'three')).toBeNull();
    expect(shares.take('b', 'three')).not.toBeNull();
  });
});
