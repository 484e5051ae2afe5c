import { openSeries } from '../../../formats/recurrence/series.ts';
import { instanceId, instancesBetween, readInstanceId, type SeriesEvent } from './instances.ts';

describe('ids of instances', () => {
  const id = '019aa1b2-0000-7000-8000-000000000001';

  it('name the series and the start of the instance', () => {
    const startMs = Date.parse('2026-01-05T09:00:00Z');
    const timed = instanceId({ id, when: { object: 'time', time: 0 } }, startMs);
    expect(timed).toBe(`${id}_20260105T090000Z`);
    expect(readInstanceId(timed)).toEqual({ masterId: id, startMs });
    const day = instanceId(
      { id, when: { object: 'date', date: '2026-01-05' } },
      Date.parse('2026-01-05'),
    );
    expect(readInstanceId(day)).toEqual({ masterId: id, startMs: Date.parse('2026-01-05') });
  });

  it.each([id, `${id}_`, `${id}_2026`, 'nonsense_20260105', `${id}_20260105T0900`])(
    'rejects %s, which names no instance',
    (text) => {
      expect(readInstanceId(text)).toBeUndefined();
    },
  );
});

describe('instances of an all-day series', () => {
  // These days begin 14 hours before and 11 hours after midnight UTC.
  it.each([
    ['Pacific/Kiritimati', '2030-03-29T10:00:00Z'],
    ['Pacific/Pago_Pago', '2030-03-30T11:00:00Z'],
  ])('are found by the time at which their day begins in %s', (zone, begins) => {
    const when = { object: 'date', date: '2030-03-28' } as const;
    const recurrence = { rrule: ['RRULE:FREQ=DAILY;COUNT=5'], timezone: zone };
    const master = { id: 'a', when, recurrence, zone, replaced: [] as readonly number[] };
    const beginMs = Date.parse(begins);
    const found = instancesBetween(
      master as SeriesEvent & typeof master,
      openSeries(master),
      beginMs,
      beginMs + 1,
    );
    expect(found.map((instance) => instance.when)).toEqual([
      { object: 'date', date: '2030-03-30' },
    ]);
  });
});
