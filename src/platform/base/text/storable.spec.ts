import { storable } from './storable.ts';

describe('storable', () => {
  it('leaves ordinary text alone', () => {
    expect(storable('550 5.1.1 Größe 😀')).toBe('550 5.1.1 Größe 😀');
  });

  it('drops NUL, and does not leave half a character behind', () => {
    expect(storable('a\0b')).toBe('ab');
    expect(storable('a😀', 2).isWellFormed()).toBe(true);
  });

  it('cuts what is too long', () => {
    expect(storable('x'.repeat(3_000))).toHaveLength(2_000);
  });
});
