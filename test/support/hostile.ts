/* Invalid and hostile input. It is the same in every run, so that a failure can be repeated. */

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

/**
 * JSON texts that replace a value. They are texts because some of them cannot be made from a
 * JavaScript value.
 */
export const HOSTILE_VALUES: Readonly<Record<string, string>> = {
  null: 'null',
  true: 'true',
  zero: '0',
  negative: '-1',
  fraction: '1.5',
  'huge number': '1e308',
  'beyond safe integers': '9007199254740993',
  'the end of time': '253402300799',
  'empty text': '""',
  space: '" "',
  'text of a number': '"17"',
  'long text': JSON.stringify('x'.repeat(101_000)),
  NUL: String.raw`"a\u0000b"`,
  'half a character': String.raw`"a\ud800b"`,
  'control characters': String.raw`"a\r\nBcc: eve@evil.test\u001b[31m\u202e"`,
  'SQL in a text': `"' or 1=1; drop table x; --"`,
  'template in a text': JSON.stringify(
    '${7*7}{{7*7}}%s%n<script>alert(1)</script>../../etc/passwd',
  ),
  'empty array': '[]',
  'array of nulls': '[null,null]',
  'array of arrays': '[[[]]]',
  'long array': `[${'0,'.repeat(1500)}0]`,
  'array of texts': '["x"]',
  'empty object': '{}',
  'object with a prototype':
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
  'object with methods': '{"toString":1,"valueOf":null,"toJSON":{},"then":{}}',
  'object with a hostile key': String.raw`{"a\u0000":"b","":"","length":-1}`,
  'operators of a query': '{"$ne":null,"$gt":"","$or":[]}',
  'nested 90 levels': nested(90),
  'nested 5000 levels': nested(5000),
};

/** The texts among the hostile values. */
export const HOSTILE_TEXTS: ReadonlySet<string> = new Set(
  Object.values(HOSTILE_VALUES).flatMap((value) => {
    if (!value.startsWith('"')) return [];
    return [JSON.parse(value) as string];
  }),
);

/**
 * Bodies that are not a JSON object, or not JSON at all. `null`, an empty list and an empty body
 * count as an empty object.
 */
export const HOSTILE_BODIES: Readonly<Record<string, string>> = {
  'broken JSON': '{"name":',
  'two values': '{} {}',
  'trailing comma': '{"name":"x",}',
  'single quotes': `{'name':'x'}`,
  'no JSON': 'name=x&name=y',
  XML: '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>',
  'an array': '[1]',
  'an array of objects': '[{"name":"x"}]',
  'a text': '"name"',
  'a number': '17',
  true: 'true',
  NaN: 'NaN',
  '20 000 brackets': '['.repeat(20_000),
  'nested arrays': `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
};

/** Query strings for a parameter, already encoded. */
export const HOSTILE_QUERIES: Readonly<Record<string, (name: string) => string>> = {
  empty: (name) => `${name}=`,
  bare: (name) => name,
  'text of a number': (name) => `${name}=17`,
  negative: (name) => `${name}=-1`,
  fraction: (name) => `${name}=1.5`,
  exponent: (name) => `${name}=1e3`,
  'huge number': (name) => `${name}=99999999999999999999`,
  'the end of time': (name) => `${name}=253402300799`,
  true: (name) => `${name}=true`,
  text: (name) => `${name}=nonsense`,
  '300 characters': (name) => `${name}=${'x'.repeat(300)}`,
  repeated: (name) => `${name}=1&${name}=2`,
  'repeated 200 times': (name) => Array.from({ length: 200 }, () => `${name}=a:b`).join('&'),
  brackets: (name) => `${name}[]=1&${name}[$ne]=2&${name}[__proto__][x]=1`,
  NUL: (name) => `${name}=a%00b`,
  'no UTF-8': (name) => `${name}=%ff%fe%c0%af`,
  'broken escape': (name) => `${name}=%E0%A4%A`,
  SQL: (name) => `${name}=${encodeURIComponent("' or 1=1; drop table x; --")}`,
  'signs of LIKE': (name) => `${name}=${encodeURIComponent(String.raw`%_\%:\\`)}`,
  commas: (name) => `${name}=,,,,`,
};

/** Path segments to send instead of an id, already encoded. None of them is the id of an object. */
export const HOSTILE_IDS: Readonly<Record<string, string>> = {
  'a random id': '019aa1b2-0000-7000-8000-00000000dead',
  'the nil id': '00000000-0000-0000-0000-000000000000',
  nonsense: 'nonsense',
  number: '17',
  NUL: 'a%00b',
  'no UTF-8': '%ff%fe',
  'broken escape': '%E0%A4%A',
  'dots and slashes': '..%2f..%2fetc%2fpasswd',
  SQL: encodeURIComponent("' or 1=1; drop table x; --"),
  'a property of every object': '__proto__',
  'another one': 'constructor',
  commas: ',,,',
  '2000 characters': 'x'.repeat(2000),
  'an id in braces': '%7B019aa1b2-0000-7000-8000-00000000dead%7D',
};

/** `value` as JSON, with `text` in place of the value at `path`. */
export function replaceAt(value: unknown, path: readonly string[], text: string): string {
  const [first, ...rest] = path;
  if (first === undefined) return text;
  if (Array.isArray(value)) {
    const elements = value.map((element: unknown, index) =>
      String(index) === first ? replaceAt(element, rest, text) : JSON.stringify(element),
    );
    return `[${elements.join(',')}]`;
  }
  const entries = Object.entries({ [first]: undefined, ...(value as object) });
  return `{${entries
    .map(([key, inner]) => {
      const content = key === first ? replaceAt(inner, rest, text) : JSON.stringify(inner);
      return `${JSON.stringify(key)}:${content}`;
    })
    .join(',')}}`;
}

/** A copy of `value` without the value at `path`. */
export function removeAt(value: unknown, path: readonly string[]): unknown {
  const copy = structuredClone(value);
  let parent = copy as Record<string, unknown>;
  for (const key of path.slice(0, -1)) parent = parent[key] as Record<string, unknown>;
  delete parent[path.at(-1) ?? ''];
  return copy;
}
