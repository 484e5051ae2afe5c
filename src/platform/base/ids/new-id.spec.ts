import { validate, version } from 'uuid';
import { firstIdAt, newId } from './ids.ts';

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
