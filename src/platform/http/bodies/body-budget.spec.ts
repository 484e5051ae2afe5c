import { BodyBudget, type BodySender } from './body-budget.ts';

const LIMITS = { most: 10, ofOne: 6, ofApplication: 8, waiting: 2, waitMs: 60_000 };

const [ada, bo, cleo] = ['ada', 'bo', 'cleo'].map((caller) => ({ caller })) as [
  BodySender,
  BodySender,
  BodySender,
];

describe('BodyBudget', () => {
  it('lets a body wait until there is room, but not behind a caller who has too much', async () => {
    const budget = new BodyBudget(LIMITS);
    const ofAda = await budget.take(ada, 6);
    const ofBo = await budget.take(bo, 4);
    const order: string[] = [];
    const wait = async (sender: BodySender) => {
      await budget.take(sender, 3);
      order.push(sender.caller);
    };
    const [waitingAda, waitingCleo] = [wait(ada), wait(cleo)];
    ofBo.release();
    await waitingCleo;
    expect(order).toEqual(['cleo']);
    ofAda.release();
    await waitingAda;
    expect(order).toEqual(['cleo', 'ada']);
  });

  it('reads a body that is larger than the share of one caller alone', async () => {
    const budget = new BodyBudget(LIMITS);
    const { release } = await budget.take(ada, 9);
    let second = false;
    const waiting = budget.take(ada, 1).then(({ release: end }) => {
      second = true;
      end();
    });
    (await budget.take(bo, 4)).release();
    expect(second).toBe(false);
    release();
    await waiting;
    expect(second).toBe(true);
  });

  it('refuses a body with 429 if too many wait, or if it has waited for too long', async () => {
    const busy = { code: 'request.too-many-large', kind: 'rate-limited' };
    const budget = new BodyBudget({ ...LIMITS, waitMs: 1 });
    await budget.take(ada, 6);
    const waiting = Promise.allSettled([budget.take(ada, 1), budget.take(ada, 1)]);
    await expect(budget.take(ada, 1)).rejects.toMatchObject(busy);
    const results = await waiting;
    expect(results.map((result) => result.status === 'rejected' && result.reason)).toEqual([
      expect.objectContaining(busy),
      expect.objectContaining(busy),
    ]);
    await expect(budget.take(bo, 4)).resolves.toMatchObject({});
  });

  it('has room again as soon as a body turns out to be smaller', async () => {
    const budget = new BodyBudget(LIMITS);
    const room = await budget.take(ada, 6);
    const waiting = budget.take(ada, 5);
    room.shrink(1);
    const second = await waiting;
    room.release();
    second.release();
    await budget.take(ada, 6);
  });

  it('keeps room from the accounts of one application for those of others', async () => {
    const budget = new BodyBudget(LIMITS);
    const application = 'mail for all';
    const first = await budget.take({ ...ada, application }, 6);
    let second = false;
    const waiting = budget.take({ ...bo, application }, 3).then(() => (second = true));
    await budget.take({ ...cleo, application: 'another' }, 4);
    expect(second).toBe(false);
    first.release();
    await waiting;
  });

  it('lets later bodies wait behind a large one, so that it has its turn', async () => {
    const budget = new BodyBudget({ ...LIMITS, ofOne: 10, ofApplication: 10 });
    const first = await budget.take(ada, 4);
    const order: string[] = [];
    const large = budget.take(bo, 8).then((room) => {
      order.push('large');
      room.release();
    });
    const small = budget.take(cleo, 1).then(() => order.push('small'));
    first.release();
    await Promise.all([large, small]);
    expect(order).toEqual(['large', 'small']);
  });
});
