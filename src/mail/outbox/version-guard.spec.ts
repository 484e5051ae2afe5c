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
  ])('%p is read as %p', (header, tags) => expect(parseIfMatch(header)).toEqual(tags));

  it.each(['', '1', '"1', '1"', '"1" "2"', '"1",', ',"1"', 'w/"1"', '*, "1"', '"a b"', '"\0"'])(
    'refuses %p',
    (header) => expect(() => parseIfMatch(header)).toThrow('If-Match: must be'),
  );

  it('takes no time to refuse a long one', () => {
    expect(() => parseIfMatch(`${'"1", '.repeat(3000)}x`)).toThrow('If-Match');
  });
});

describe('assertVersion', () => {
  it('lets through what has seen the present version, any version, or asks for none', () => {
    for (const guard of [{}, { ifMatch: '*' as const }, { ifMatch: ['1', '3'] }, { version: 3 }])
      expect(() => assertVersion(guard, 3)).not.toThrow();
  });

  it('refuses every other, each way with its own error', () => {
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
