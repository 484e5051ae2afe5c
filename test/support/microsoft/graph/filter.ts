import { graphErrors, type Json } from '../http/types.ts';

/** Tells whether an item matches a `$filter`. */
export type Filter = (item: Json) => boolean;

type Value = string | number | boolean | null;
type Operand = (item: Json, variables: Record<string, unknown>) => Value | undefined;
type Condition = (item: Json, variables: Record<string, unknown>) => boolean;

const TOKEN =
  /\s*(?:([()/,:])|('(?:[^']|'')*')|(\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d)?)?)|(-?\d+(?:\.\d+)?)|([\w@.]+))/y;
const INSTANT = /^\d{4}-\d\d-\d\d(T|$)/;

/** Reads a `$filter` of OData: comparisons, `and`, `or`, `not`, text functions, `any`. */
export function parseFilter(text: string): { matches: Filter; properties: string[] } {
  const parser = new Parser(tokens(text));
  const condition = parser.or();
  parser.end();
  return { matches: (item) => condition(item, {}), properties: parser.properties };
}

function tokens(text: string): string[] {
  const found: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const match = TOKEN.exec(text);
    if (!match) throw graphErrors.badRequest(`Invalid filter clause: ${text}`);
    found.push(match[0].trim());
  }
  return found;
}

const COMPARE: Record<string, (order: number) => boolean> = {
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
  gt: (order) => order > 0,
  ge: (order) => order >= 0,
  lt: (order) => order < 0,
  le: (order) => order <= 0,
};
const TEXT: Record<string, (text: string, part: string) => boolean> = {
  startswith: (text, part) => text.startsWith(part),
  endswith: (text, part) => text.endsWith(part),
  contains: (text, part) => text.includes(part),
};

class Parser {
  readonly properties: string[] = [];
  readonly #tokens: string[];
  #at = 0;

  constructor(list: string[]) {
    this.#tokens = list;
  }

  end(): void {
    if (this.#at < this.#tokens.length) throw this.#error();
  }

  or(): Condition {
    let left = this.#and();
    while (this.#accept('or')) {
      const [before, right] = [left, this.#and()];
      left = (item, variables) => before(item, variables) || right(item, variables);
    }
    return left;
  }

  #and(): Condition {
    let left = this.#term();
    while (this.#accept('and')) {
      const [before, right] = [left, this.#term()];
      left = (item, variables) => before(item, variables) && right(item, variables);
    }
    return left;
  }

  #term(): Condition {
    if (this.#accept('not')) {
      const condition = this.#term();
      return (item, variables) => !condition(item, variables);
    }
    if (this.#accept('(')) {
      const condition = this.or();
      this.#expect(')');
      return condition;
    }
    const name = (this.#tokens[this.#at] ?? '').toLowerCase();
    const text = TEXT[name];
    if (text && this.#tokens[this.#at + 1] === '(') return this.#textFunction(text);
    return this.#comparison();
  }

  #textFunction(test: (text: string, part: string) => boolean): Condition {
    this.#at += 2;
    const left = this.#operand();
    this.#expect(',');
    const right = this.#operand();
    this.#expect(')');
    return (item, variables) => test(lower(left(item, variables)), lower(right(item, variables)));
  }

  #comparison(): Condition {
    const path = this.#path();
    if (path?.at(-1) === 'any') return this.#any(path.slice(0, -1));
    const left = path ? this.#property(path) : this.#operand();
    const compare = COMPARE[(this.#tokens[this.#at] ?? '').toLowerCase()];
    if (!compare) {
      if (!path) throw this.#error();
      return (item, variables) => left(item, variables) === true;
    }
    this.#at += 1;
    const right = this.#operand();
    return (item, variables) => {
      const [a, b] = [left(item, variables), right(item, variables)];
      return compare(order(a ?? null, b ?? null));
    };
  }

  #any(path: string[]): Condition {
    this.#expect('(');
    const variable = this.#next();
    this.#expect(':');
    const inner = this.or();
    this.#expect(')');
    return (item, variables) => {
      const list = valueAt(item, path, variables);
      return (
        Array.isArray(list) &&
        list.some((entry) => inner(item, { ...variables, [variable]: entry as unknown }))
      );
    };
  }

  #operand(): Operand {
    const token = this.#tokens[this.#at] ?? '';
    if (token.startsWith("'")) {
      this.#at += 1;
      const text = token.slice(1, -1).replaceAll("''", "'");
      return () => text;
    }
    if (/^(true|false|null)$/.test(token)) {
      this.#at += 1;
      return () => (token === 'null' ? null : token === 'true');
    }
    if (/^-?\d/.test(token)) {
      this.#at += 1;
      return () => (INSTANT.test(token) ? token : Number(token));
    }
    const path = this.#path();
    if (!path) throw this.#error();
    return this.#property(path);
  }

  #property(path: string[]): Operand {
    return (item, variables) => valueAt(item, path, variables) as Value | undefined;
  }

  #path(): string[] | null {
    const token = this.#tokens[this.#at] ?? '';
    if (!/^[A-Za-z_@]/.test(token) || /^(true|false|null)$/.test(token)) return null;
    const path = [this.#next()];
    while (this.#accept('/')) path.push(this.#next());
    this.properties.push(path.filter((part) => part !== 'any').join('/'));
    return path;
  }

  #next(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw this.#error();
    this.#at += 1;
    return token;
  }

  #accept(token: string): boolean {
    if ((this.#tokens[this.#at] ?? '').toLowerCase() !== token) return false;
    this.#at += 1;
    return true;
  }

  #expect(token: string): void {
    if (!this.#accept(token)) throw this.#error();
  }

  #error() {
    return graphErrors.badRequest(
      `Invalid filter clause: syntax error at position ${this.#at} in '${this.#tokens.join(' ')}'.`,
    );
  }
}

const lower = (value: Value | undefined): string =>
  typeof value === 'string' ? value.toLowerCase() : '';

function valueAt(item: Json, path: string[], variables: Record<string, unknown>): unknown {
  const [first = '', ...rest] = path;
  let value: unknown = first in variables ? variables[first] : item[first];
  for (const part of rest) value = (value as Json | null | undefined)?.[part];
  return value;
}

/** Compares values like Exchange: instants as instants, text without regard to case. */
export function order(a: unknown, b: unknown): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  if (typeof a === 'string' && typeof b === 'string') {
    if (INSTANT.test(a) && INSTANT.test(b)) return Date.parse(a) - Date.parse(b);
    const [left, right] = [a.toLowerCase(), b.toLowerCase()];
    return left < right ? -1 : Number(left > right);
  }
  return Number(a) - Number(b);
}
