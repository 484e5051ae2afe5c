import { assertVersion, parseIfMatch } from './version-guard.ts';

describe('If-Match', () => {
  it.each([
    [undefined, undefined],
    ['*', '*'],
    [' * ', '*'],
    ['"1"', ['1']],
    ['"1", "22"', ['1', '22']],
    ['"1","2"', ['1', '2']],
    ['W/"1"', []],
    ['W/"1", "2"', ['2']],
    ['"a,b"', ['a,b']],
    ['""', ['']],
  ])('parses %p as %p', (header, tags) => expect(parseIfMatch(header)).toEqual(tags));

  it.each(['', '1', '"1', '1"', '"1" "2"', '"1",', ',"1"', 'w/"1"', '*, "1"', '"a b"', '"\0"'])(
    'refuses %p',
    (header) => expect(() => parseIfMatch(header)).toThrow('If-Match: must be'),
  );

  it('refuses a long malformed header without delay', () => {
    expect(() => parseIfMatch(`${'"1", '.repeat(3000)}x`)).toThrow('If-Match');
  });
});

describe('assertVersion', () => {
  it('accepts the current version, any version, or no guard at all', () => {
    for (const guard of [{}, { ifMatch: '*' as const }, { ifMatch: ['1', '3'] }, { version: 3 }])
      expect(() => assertVersion(guard, 3)).not.toThrow();
  });

  it('refuses every other version: If-Match with a precondition error, version with a conflict', () => {
    expect(() => assertVersion({ ifMatch: ['2'] }, 3)).toThrow(
      expect.objectContaining({ kind: 'precondition' }),
    );
    expect(() => assertVersion({ ifMatch: [] }, 3)).toThrow(
      expect.objectContaining({ kind: 'precondition' }),
    );
    expect(() => assertVersion({ ifMatch: ['03'] }, 3)).toThrow(
      expect.objectContaining({ kind: 'precondition' }),
    );
    expect(() => assertVersion({ ifMatch: '*', version: 2 }, 3)).toThrow(
      expect.objectContaining({ kind: 'conflict' }),
    );
  });
});
