import { WorkBudget } from './work-budget.ts';

describe('work for one request', () => {
  it('lets others have their turn, whose time does not count, and ends', async () => {
    let now = 0;
    const budget = new WorkBudget(() => now);
    expect(budget.spend(1)).toBeUndefined();
    for (let turn = 0; turn < 40; turn += 1) {
      now += 50;
      const rest = budget.spend(1);
      expect(rest).toBeInstanceOf(Promise);
      now += 1_000;
      await rest;
    }
    now += 50;
    expect(() => budget.spend(1)).toThrow('emails: the rules of recurring events take too long');
  });

  it('ends when there is too much to tell', () => {
    const budget = new WorkBudget(() => 0);
    expect(budget.spend(200_000)).toBeUndefined();
    expect(() => budget.spend(1)).toThrow(
      'emails: recurring events take place more than 200000 times',
    );
  });
});
