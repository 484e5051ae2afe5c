import { BodyBudget } from './body-budget.ts';

const LIMITS = { most: 10, ofOne: 6, waiting: 2, waitMs: 60_000 };

describe('BodyBudget', () => {
  it('lets a body wait until there is room, but not behind a caller who has too much', async () => {
    const budget = new BodyBudget(LIMITS);
    const ofAda = await budget.take('ada', 6);
    const ofBo = await budget.take('bo', 4);
    const order: string[] = [];
    const wait = async (caller: string) => {
      await budget.take(caller, 3);
      order.push(caller);
    };
    const [ada, cleo] = [wait('ada'), wait('cleo')];
    ofBo();
    await cleo;
    expect(order).toEqual(['cleo']);
    ofAda();
    await ada;
    expect(order).toEqual(['cleo', 'ada']);
  });

  it('reads a body that is larger than the share of one caller alone', async () => {
    const budget = new BodyBudget(LIMITS);
    const release = await budget.take('ada', 9);
    let second = false;
    const waiting = budget.take('ada', 1).then((end) => {
      second = true;
      end();
    });
    (await budget.take('bo', 4))();
    expect(second).toBe(false);
    release();
    await waiting;
    expect(second).toBe(true);
  });

  it('refuses a body with 429 if too many wait, or if it has waited for too long', async () => {
    const busy = { code: 'request.too-many-large', kind: 'rate-limited' };
    const budget = new BodyBudget({ ...LIMITS, waitMs: 1 });
    await budget.take('ada', 6);
    const waiting = Promise.allSettled([budget.take('ada', 1), budget.take('ada', 1)]);
    await expect(budget.take('ada', 1)).rejects.toMatchObject(busy);
    const results = await waiting;
    expect(results.map((result) => result.status === 'rejected' && result.reason)).toEqual([
      expect.objectContaining(busy),
      expect.objectContaining(busy),
    ]);
    await expect(budget.take('bo', 4)).resolves.toEqual(expect.any(Function));
  });
});
