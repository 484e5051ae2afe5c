import { GoogleHabits, NOT_COMBINED } from './habits.ts';

describe('the habits of the stub of Google', () => {
  it('are all switched on by worst(), or left out for a reason', () => {
    const [usual, worst] = [new GoogleHabits(), new GoogleHabits()];
    worst.worst();
    const names = Object.keys(usual) as (keyof GoogleHabits)[];
    const changed = names.filter((name) => usual[name] !== worst[name] && !(name in NOT_COMBINED));
    expect([...changed, ...Object.keys(NOT_COMBINED)].toSorted()).toEqual(names.toSorted());
  });
});
