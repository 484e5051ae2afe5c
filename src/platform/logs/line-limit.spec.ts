import { type LeftOut, LineLimit } from './line-limit.ts';

describe('LineLimit', () => {
  let reports: LeftOut<'send' | 'hook'>[];
  let periods: (() => void)[];
  let limit: LineLimit<'send' | 'hook'>;
  beforeEach(() => {
    reports = [];
    periods = [];
    limit = new LineLimit(
      { most: 3, periodMs: 10_000 },
      (leftOut) => reports.push(leftOut),
      (work) => periods.push(work),
    );
  });
  const write = (kind: 'send' | 'hook', times: number) =>
    Array.from({ length: times }, () => limit.allows(kind)).filter(Boolean).length;

  it('writes 3 of 10,000 lines of a period, and reports how many it left out', () => {
    expect(write('send', 10_000)).toBe(3);
    expect(reports).toEqual([]);
    periods.shift()?.();
    expect(reports).toEqual([{ kind: 'send', count: 9_997, seconds: 10 }]);
  });

  it('counts each kind on its own', () => {
    expect([write('send', 5), write('hook', 2)]).toEqual([3, 2]);
  });

  it('writes again in the next period, and reports nothing if nothing was left out', () => {
    write('send', 3);
    periods.shift()?.();
    expect(write('send', 3)).toBe(3);
    expect(reports).toEqual([]);
  });

  it('reports what was left out before the process stops, and not again afterwards', () => {
    write('send', 4);
    limit.flush();
    periods.shift()?.();
    expect(reports).toEqual([{ kind: 'send', count: 1, seconds: 10 }]);
  });
});
