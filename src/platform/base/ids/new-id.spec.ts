import { NIL, MAX, v7, validate, version } from 'uuid';
import { firstIdAt, isId, newId, uuid7 } from './ids.ts';

describe('newId', () => {
  it('creates ids of version 7 that contain the time', () => {
    const before = firstIdAt(new Date());
    const id = newId();
    expect(validate(id) && version(id) === 7).toBe(true);
    expect(id >= before && id < firstIdAt(new Date(Date.now() + 1))).toBe(true);
  });

  it('creates growing ids, even within one millisecond and across refills of the pool', () => {
    const ids = Array.from({ length: 5_000 }, newId);
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
    // The random part differs from id to id, so that ids cannot be guessed.
    expect(new Set(ids.map((id) => id.slice(-10))).size).toBe(ids.length);
  });
});

describe('uuid7', () => {
  it.each([0, 1, 0x7fffffff, -1, 0x12345678])(
    'writes the same id as the package uuid for the counter %d',
    (counter) => {
      const random = Uint8Array.from({ length: 16 }, (_, index) => 0xf0 + index);
      const msecs = Date.UTC(2026, 10, 26, 8, 30, 15, 123);
      expect(uuid7(msecs, counter, random)).toBe(v7({ random, msecs, seq: counter }));
    },
  );
});

describe('isId', () => {
  it.each([newId(), newId().toUpperCase(), 'c0f1e2d3-1111-4222-8333-444455556666', MAX])(
    'accepts %s',
    (id) => expect(isId(id)).toBe(true),
  );

  it.each(['', 'x', NIL, '019aa1b2-0000-0000-8000-000000000001', newId().slice(1), `${newId()} `])(
    'refuses %j',
    (id) => expect(isId(id)).toBe(false),
  );
});
