import { storable } from './storable.ts';

describe('storable', () => {
  it('does not change ordinary text', () => {
    expect(storable('550 5.1.1 Größe 😀')).toBe('550 5.1.1 Größe 😀');
  });

  it('removes NUL and unpaired surrogates, also when the cut splits a character', () => {
    expect(storable('a\0b')).toBe('ab');
    expect(storable('a😀', 2).isWellFormed()).toBe(true);
  });

  it('cuts text that is too long', () => {
    expect(storable('x'.repeat(3_000))).toHaveLength(2_000);
  });
});
