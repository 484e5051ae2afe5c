import { instanceId, readInstanceId } from './instances.ts';

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
