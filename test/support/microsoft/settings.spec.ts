import { defaultSettings, NOT_COMBINED, UNPLEASANT } from './settings.ts';

describe('the settings of the stub of Microsoft', () => {
  it('are all in UNPLEASANT with another value than usual, or left out for a reason', () => {
    const usual = Object.entries(defaultSettings());
    const unpleasant: Record<string, unknown> = UNPLEASANT;
    const changed = usual.flatMap(([name, value]) =>
      name in unpleasant && unpleasant[name] !== value ? [name] : [],
    );
    const leftOut = Object.keys(NOT_COMBINED);
    expect([...changed, ...leftOut].toSorted()).toEqual(usual.map(([name]) => name).toSorted());
    expect(leftOut.filter((name) => name in unpleasant)).toEqual([]);
  });
});
