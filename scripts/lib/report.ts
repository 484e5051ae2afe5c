import { styleText } from 'node:util';

/** A step did not have the expected result. */
export class StepFailure extends Error {
  override name = 'StepFailure';
}

const WIDEST = 110;
const INDENT = 2;

/** JSON for people: a value that fits on one line stays on one line. */
function pretty(value: unknown, indent = 0): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{ ', ' }'];
  const parts = Array.isArray(value)
    ? value.map((item): [string, unknown] => ['', item])
    : Object.entries(value).map(([name, item]): [string, unknown] => [`"${name}": `, item]);
  if (parts.length === 0) return `${open}${close}`.replaceAll(' ', '');
  const oneLine = `${open}${parts.map(([label, item]) => label + pretty(item, -Infinity)).join(', ')}${close}`;
  if (indent + oneLine.length <= WIDEST) return oneLine;
  const inner = indent + INDENT;
  const lines = parts.map(([label, item]) => `${' '.repeat(inner)}${label}${pretty(item, inner)}`);
  return `${open.trim()}\n${lines.join(',\n')}\n${' '.repeat(indent)}${close.trim()}`;
}

/** Prints what a program does, step by step, and counts the checks. */
export class Report {
  #steps = 0;
  #verified = 0;
  readonly #secrets: string[] = [];

  get verified(): number {
    return this.#verified;
  }

  get steps(): number {
    return this.#steps;
  }

  step(title: string): void {
    this.#steps += 1;
    this.#print(`\n${styleText('bold', `${String(this.#steps).padStart(2)}. ${title}`)}`);
  }

  /** Prints only the first six characters of this secret from now on. */
  hide(secret: string): void {
    this.#secrets.push(secret);
  }

  note(text: string): void {
    this.#print(`    ${text}`);
  }

  /** Prints a request. */
  sent(text: string, body?: unknown): void {
    this.#block(styleText('cyan', '→'), text, body);
  }

  /** Prints a response. */
  received(text: string, body?: unknown): void {
    this.#block(styleText('yellow', '←'), text, body);
  }

  /**
   * Prints and counts a check.
   * @param actual shown in the error if the condition is false
   * @throws {StepFailure} if the condition is false
   */
  verify(text: string, condition: boolean, actual?: unknown): void {
    if (!condition) {
      this.#print(`    ${styleText('red', '✗')} ${text}`);
      throw new StepFailure(
        actual === undefined
          ? text
          : `${text}; the response was ${JSON.stringify(actual)}`.slice(0, 2000),
      );
    }
    this.#verified += 1;
    this.#print(`    ${styleText('green', '✓')} ${text}`);
  }

  #block(arrow: string, text: string, body: unknown): void {
    if (body === undefined) return this.#print(`    ${arrow} ${text}`);
    const lines = pretty(body).split('\n');
    const begins = text && text.length + (lines[0]?.length ?? 0) < WIDEST && lines.length === 1;
    if (begins || text === '')
      this.#print(`    ${arrow} ${text && `${text}   `}${styleText('dim', lines.shift() ?? '')}`);
    else this.#print(`    ${arrow} ${text}`);
    for (const line of lines) this.#print(`      ${styleText('dim', line)}`);
  }

  #print(text: string): void {
    const shown = this.#secrets.reduce(
      (all, secret) => all.replaceAll(secret, `${secret.slice(0, 6)}…`),
      text,
    );
    process.stdout.write(`${shown}\n`);
  }
}

/**
 * Repeats the probe until it returns a value.
 * @param what what the probe waits for, for the error
 * @throws {StepFailure} after `limitMs`
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined>,
  limitMs = 20_000,
): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined) return value;
    if (performance.now() > deadline)
      throw new StepFailure(`waited ${limitMs / 1000} s in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
