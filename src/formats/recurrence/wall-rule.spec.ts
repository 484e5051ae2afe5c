import { RRuleTemporal } from 'rrule-temporal';
import { usualRule } from './wall-rule.ts';

const DAY_MS = 86_400_000;
const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];

/** Pseudo-random numbers between 0 and 1, the same sequence for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe('usualRule', () => {
  const random = randomFrom(45);
  const number = (low: number, high: number): number =>
    low + Math.floor(random() * (high - low + 1));
  const chance = (share: number): boolean => random() < share;
  const some = <T>(items: readonly T[], most: number): T[] =>
    Array.from({ length: number(1, most) }, () => items[number(0, items.length - 1)]!);
  const monthDays = () =>
    `BYMONTHDAY=${[...new Set(some([1, 2, 13, 15, 28, 29, 30, 31, -1, -2, -31], 3))].join()}`;
  const weekdays = (ordinals: boolean) => {
    const days = some(WEEKDAYS, 4).map(
      (day) => (ordinals ? `${some([1, 2, 3, 4, 5, -1, -2, -5], 1)[0]}` : '') + day,
    );
    return `BYDAY=${[...new Set(days)].join()}`;
  };

  const ofMonth = (): string[] => {
    const kind = number(0, 4);
    if (kind === 0) return [];
    if (kind === 1) return [monthDays()];
    if (kind === 2) return [weekdays(false)];
    if (kind === 3)
      return [weekdays(false), `BYSETPOS=${[...new Set(some([1, 2, 3, -1, -2], 2))].join()}`];
    return [weekdays(true)];
  };

  const ruleText = (): string => {
    const frequency = some(['DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'], 1)[0]!;
    const parts = [`FREQ=${frequency}`];
    if (chance(0.5)) parts.push(`INTERVAL=${number(1, 5)}`);
    if (chance(0.3)) parts.push(`COUNT=${number(1, 40)}`);
    if (chance(0.3)) parts.push(`WKST=${some(WEEKDAYS, 1)[0]}`);
    if (frequency === 'DAILY' || frequency === 'WEEKLY') {
      if (chance(0.6)) parts.push(weekdays(false));
    } else if (frequency === 'MONTHLY') parts.push(...ofMonth());
    else if (chance(0.7)) {
      parts.push(`BYMONTH=${[...new Set(some([1, 2, 3, 6, 11, 12], 2))].join()}`);
      parts.push(...ofMonth().slice(0, 1));
    }
    return parts.join(';');
  };

  it('gives the same occurrences as rrule-temporal for random rules and time spans', () => {
    const differing: object[] = [];
    let compared = 0;
    for (let run = 0; run < 3_000; run += 1) {
      const text = ruleText();
      const beginMs = Date.UTC(
        number(2015, 2030),
        number(0, 11),
        number(1, 31),
        number(0, 23),
        number(0, 59),
      );
      const rule = usualRule(text, beginMs);
      if (!rule) throw new Error(`${text} is not expanded by arithmetic`);
      const begin = new Date(beginMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
      const library = new RRuleTemporal({
        rruleString: `DTSTART:${begin}\nRRULE:${text}`,
        strict: true,
        maxIterations: 5_000,
      });
      const from =
        beginMs + number(-40, 700) * DAY_MS + (chance(0.3) ? 0 : number(-DAY_MS, DAY_MS));
      const last = from + number(0, 400) * DAY_MS;
      let expected: number[];
      try {
        expected = library
          .between(new Date(from), new Date(last), true)
          .map((time) => time.epochMilliseconds);
      } catch {
        continue; // rrule-temporal gives up after too many steps
      }
      compared += 1;
      const found = rule.between(from, last, 1_000);
      if (JSON.stringify(found) !== JSON.stringify(expected))
        differing.push({
          text,
          begin,
          from: new Date(from),
          last: new Date(last),
          found: found.map((x) => new Date(x)),
          expected: expected.map((x) => new Date(x)),
        });
    }
    expect(differing.slice(0, 3)).toEqual([]);
    expect(compared).toBeGreaterThan(2_500);
  });
});
