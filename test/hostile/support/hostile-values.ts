import fc from 'fast-check';

/** Texts that have broken programs before. */
const TEXTS: readonly string[] = [
  '',
  ' ',
  'NaN',
  'Infinity',
  '-0',
  '1e400',
  '0x10',
  'null',
  'undefined',
  'true',
  '__proto__',
  'constructor',
  'a\0b',
  'a\ud800b',
  '\udfff',
  '\u202Egnp.exe',
  '\uFEFF',
  '\u001B]52;c;QQ==\u0007',
  'a\r\nBcc: eve@evil.test',
  `e${'\u0301'.repeat(2_000)}`,
  '👩‍👩‍👧‍👦'.repeat(200),
  'ﷺ'.repeat(300),
  'İSTANBUL'.repeat(50),
  '%',
  String.raw`%_\\%`,
  "' or 1=1; --",
  '${7*7}{{7*7}}',
  '../../../etc/passwd',
  'x'.repeat(300),
  'x'.repeat(70_000),
  '('.repeat(3_000),
  '"'.repeat(3_001),
  '<'.repeat(3_000),
  `${'a,'.repeat(5_000)}a`,
  '2030-02-30T25:61:61Z',
  'Europe/../UTC',
  'Etc/GMT+99',
  'ada@example.test',
  'a@'.repeat(2_000),
  'RRULE:FREQ=SECONDLY;INTERVAL=1',
  'http://[::1]:0/',
  'javascript:alert(1)',
];

const NUMBERS: readonly string[] = [
  '0',
  '-1',
  '1.5',
  '-0',
  '1e308',
  '1e400',
  '-1e400',
  '5e-324',
  '9007199254740993',
  '2147483648',
  '253402300800',
  '99999999999999999999999999',
];

/**
 * A text that no client should send: a known bad one, or any characters, including halves of
 * surrogate pairs.
 */
export const hostileText = (): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...TEXTS) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
    { weight: 1, arbitrary: fc.string({ maxLength: 40 }) },
  );

const nested = (open: string, close: string, depth: number) =>
  `${open.repeat(depth)}1${close.repeat(depth)}`;

/** Nonsense JSON. It is text, because some of it cannot be made from any value. */
export const hostileJson = (): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 4, arbitrary: hostileText().map((text) => JSON.stringify(text)) },
    { weight: 3, arbitrary: fc.constantFrom(...NUMBERS) },
    { weight: 1, arbitrary: fc.constantFrom('null', 'true', 'false', '[]', '{}') },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        '{"__proto__":{"polluted":1},"constructor":{"prototype":{}}}',
        '{"toString":1,"valueOf":null,"then":{},"toJSON":1,"length":-1}',
        '{"a":1,"a":2,"A":3}',
        '{"$ne":null,"$gt":""}',
        `[${'0,'.repeat(9_999)}0]`,
        `[${'{},'.repeat(2_000)}{}]`,
        `[${'"a@b.test",'.repeat(2_000)}"a@b.test"]`,
        nested('[', ']', 400),
        nested('{"a":', '}', 400),
        nested('[', ']', 20_000),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.json({ maxDepth: 3, noUnicodeString: false } as fc.JsonSharedConstraints),
    },
  );

/** An encoded piece of a query or path. Now and then the encoding is invalid. */
export const hostileSegment = (): fc.Arbitrary<string> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: hostileText().map((text) =>
        encodeURIComponent(text.slice(0, 3_000).toWellFormed()),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('%00', '%ff%fe', '%E0%A4%A', '%', '+', ';', '..%2f', '%2e%2e'),
    },
  );

/** Any value that a header may have. */
export const hostileHeader = (): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom(
      '',
      '*',
      '"',
      'W/"x"',
      '"1", "2"',
      'x'.repeat(4_000),
      ','.repeat(2_000),
      'bytes=0-,-1',
    ),
    fc.string({
      unit: fc.constantFrom('a', 'b', '9', ' ', '"', '*', ',', ';', '=', '-', '/', '\\', 'é'),
      maxLength: 300,
    }),
  );
