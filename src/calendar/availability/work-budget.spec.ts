import { WorkBudget } from './work-budget.ts';

describe('the work budget of one request', () => {
  it('lets other requests run without counting their time, and throws when it is used up', async () => {
    let now = 0;
    const budget = new WorkBudget(() => now);
    expect(budget.spend(1)).toBeUndefined();
    for (let slice = 0; slice < 40; slice += 1) {
      now += 50;
      const rest = budget.spend(1);
      expect(rest).toBeInstanceOf(Promise);
      now += 1_000;
      await rest;
    }
    now += 50;
    expect(() => budget.spend(1)).toThrow('emails: the rules of recurring events take too long');
  });

  it('throws if there are too many occurrences', () => {
    const budget = new WorkBudget(() => 0);
    expect(budget.spend(200_000)).toBeUndefined();
    expect(() => budget.spend(1)).toThrow(
      'emails: recurring events take place more than 200000 times',
    );
  });
});
