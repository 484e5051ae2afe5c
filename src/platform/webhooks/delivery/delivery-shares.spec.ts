import { DeliveryShares } from './delivery-shares.ts';

describe('DeliveryShares', () => {
  it('limits slow webhooks together, and lets each webhook have one delivery', () => {
    const shares = new DeliveryShares({ perApplication: 100, slow: 2, slowWithFirst: 100 });
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

  it('leaves slots for fast webhooks, however many slow ones there are', () => {
    const shares = new DeliveryShares({ perApplication: 9, slow: 2, slowWithFirst: 4 });
    const begun = (application: string) =>
      Array.from({ length: 5 }, (_, n) => shares.take(application, `${application}${n}`)).filter(
        (end) => end !== null,
      );
    const first = begun('a');
    expect(first).toHaveLength(2);
    expect([begun('b').length, begun('c').length]).toEqual([2, 0]);
    shares.note('fast', 10);
    expect(shares.take('c', 'fast')).not.toBeNull();
    first[0]?.();
    expect(begun('c')).toHaveLength(1);
  });

  it('limits the deliveries of one application, however fast they are', () => {
    const shares = new DeliveryShares({ perApplication: 2, slow: 100, slowWithFirst: 100 });
    for (const webhook of ['one', 'two']) {
      shares.note(webhook, 10);
      expect(shares.take('a', webhook)).not.toBeNull();
    }
    expect(shares.take('a', 'three')).toBeNull();
    expect(shares.take('b', 'three')).not.toBeNull();
  });
});
