import type { Transform } from 'node:stream';
import type { ImapFlow } from 'imapflow';
import { withUsualFlags } from './imap-flag-case.ts';

/** How much a server may send, in bytes. */
export interface AnswerLimits {
  /**
   * For one response without its literals. Longer responses end the connection, except FETCH
   * responses: those up to `lineBytes` are ignored.
   */
  textBytes: number;
  /** For any single line. */
  lineBytes: number;
  /** Like `textBytes`, for lists of message numbers (SEARCH, ESEARCH, VANISHED). */
  numbersBytes: number;
  /** For one literal, and for all literals in the responses to one command. */
  literalBytes: number;
  /** For all responses to one command, without their literals. */
  commandBytes: number;
  /** For everything that arrives over one connection. `Infinity` for connections of accounts. */
  connectionBytes: number;
}

/** For the content of one message that is fetched as a whole. Bytes. */
export const CONTENT_BYTES = 128 * 1024 * 1024;

/**
 * Limits for connected accounts. Code that fetches contents allows larger literals
 * (`answersWithin`).
 */
export const ANSWER_LIMITS: AnswerLimits = {
  textBytes: 512 * 1024,
  lineBytes: 32 * 1024 * 1024,
  numbersBytes: 8 * 1024 * 1024,
  literalBytes: 4 * 1024 * 1024,
  commandBytes: 32 * 1024 * 1024,
  connectionBytes: Infinity,
};

/** Limits while an account is being verified. */
export const VERIFY_LIMITS: AnswerLimits = {
  textBytes: 64 * 1024,
  lineBytes: 64 * 1024,
  numbersBytes: 64 * 1024,
  literalBytes: 64 * 1024,
  commandBytes: 256 * 1024,
  connectionBytes: 256 * 1024,
};

/** A response as the library's stream passes it to its parser. */
interface Response {
  payload: Buffer;
  literals: Buffer[];
  next: () => void;
  trailingAfterLine: boolean;
}

/** The used parts of the library's stream (imapflow 2.1). */
type ResponseStream = Transform & { maxLiteralSize: number; maxResponseSize: number };

/**
 * Most literals of one response. With more, the library would need too long: its time grows with
 * the square of their number.
 */
const MOST_LITERALS = 20_000;
/** A list of numbers is parsed in pieces of this size, so that other work can run in between. */
const PIECE_BYTES = 16 * 1024;
/**
 * A set of numbers of this length or longer is put in quotes before it is parsed. Unquoted, the
 * library needs time that grows with the square of its length: four minutes for 1 MB, a tenth of a
 * second in quotes.
 */
const LONG_SET = 256;
/**
 * Limit for `SLOW_SIGNS` in one word: with more, the library needs time that grows with the square
 * of the word's length.
 */
const MOST_SLOW_SIGNS = 64;
/**
 * A list of numbers is not cut this close to its end, because `(MODSEQ 7)` may stand there. Bytes.
 */
const TAIL_BYTES = 64;
/**
 * Most vanished messages that a server may report in reply to one command. The library creates an
 * event for each.
 */
const MOST_VANISHED = 200_000;
/**
 * Most messages that an ESEARCH response may name. For some searches the library stores each
 * number.
 */
const MOST_FOUND = 2_000_000;

/** Responses are parsed for this long before other work of the process can run. Milliseconds. */
const MOST_MS_AT_ONCE = 5;

const NUMBERS = /^\* (?:SEARCH|ESEARCH|VANISHED)\b/i;
const VANISHED = /^\* VANISHED\b/i;
const FETCH = /^\* \d+ FETCH /i;
const SEARCH = /^\* SEARCH /i;
const ESEARCH = /^\* ESEARCH\b/i;
/** Pairs of UIDs of copied messages (RFC 4315). The library expands both sets. */
const COPY_UID = /\[COPYUID \d+ ([\d:,*]+) ([\d:,*]+)\]/i;
const MOST_COPIED = 100_000;

const [STAR, PLUS, QUOTE, BACKSLASH, SPACE, NUL] = [0x2a, 0x2b, 0x22, 0x5c, 0x20, 0];
const codesOf = (signs: string) => new Set(Buffer.from(signs));
/** Characters that end a word of the protocol. */
const ENDS = codesOf(' ()]\r\n');
const SLOW_SIGNS = codesOf('[:,\\');

/** The server sent more than is accepted. The code begins like the library's own codes. */
export class ImapAnswerTooLargeError extends Error {
  override name = 'ImapAnswerTooLargeError';
  readonly code = 'ResponseTooLarge';
}

/**
 * Sits between the bytes from the server and the library's parser, and limits what parsing may
 * cost.
 */
export class ImapInput {
  readonly #stream: ResponseStream;
  readonly #push: (item: Response | null) => boolean;
  #limits: AnswerLimits;
  #text = 0;
  #literals = 0;
  #vanished = 0;
  #total = 0;
  #leftOut = false;
  #fetchLeftOut = false;
  /**
   * `performance.now()` of the first response in this iteration of the event loop. `null` if there
   * was none yet.
   */
  #turnBegan: number | null = null;

  constructor(
    private readonly client: ImapFlow,
    limits: AnswerLimits,
  ) {
    this.#limits = limits;
    this.#stream = (client as unknown as { streamer: ResponseStream }).streamer;
    this.#push = this.#stream.push.bind(this.#stream);
    this.#stream.push = (item: Response | null) =>
      item === null ? this.#push(null) : this.#take(this.#withPauses(item));
    this.#applyToStream();
  }

  /** Runs work with other limits. */
  async within<T>(limits: Partial<AnswerLimits>, work: () => Promise<T>): Promise<T> {
    const before = this.#limits;
    this.#limits = { ...before, ...limits };
    this.#applyToStream();
    try {
      return await work();
    } finally {
      this.#limits = before;
      this.#applyToStream();
    }
  }

  /**
   * Whether the server has reported too many vanished messages since the last call. They were
   * ignored.
   */
  takeLeftOut(): boolean {
    const leftOut = this.#leftOut;
    this.#leftOut = false;
    return leftOut;
  }

  /**
   * Whether a FETCH response since the last call was too long to be parsed, for example the
   * structure of a mail with thousands of parts.
   */
  takeFetchLeftOut(): boolean {
    const leftOut = this.#fetchLeftOut;
    this.#fetchLeftOut = false;
    return leftOut;
  }

  #applyToStream(): void {
    const { literalBytes, lineBytes } = this.#limits;
    this.#stream.maxLiteralSize = literalBytes;
    this.#stream.maxResponseSize = literalBytes + lineBytes;
  }

  /**
   * The library processes ten chunks (640 kB, or some ten thousand lines) before any other work of
   * the process runs. A server that sends without end would delay all other requests for seconds.
   */
  #withPauses(item: Response): Response {
    if (this.#turnBegan === null) {
      this.#turnBegan = performance.now();
      setImmediate(() => (this.#turnBegan = null));
    }
    const began = this.#turnBegan;
    const next = () => {
      if (performance.now() - began < MOST_MS_AT_ONCE) item.next();
      else setImmediate(item.next);
    };
    return { ...item, next };
  }

  #take(item: Response): boolean {
    const { payload, literals } = item;
    const [first] = payload;
    if (first !== STAR && first !== PLUS && first !== NUL)
      this.#text = this.#literals = this.#vanished = 0;
    const literalBytes = literals.reduce((sum, { length }) => sum + length, 0);
    this.#text += payload.length;
    this.#literals += literalBytes;
    this.#total += payload.length + literalBytes;
    const tooMuch = this.#tooMuch(item);
    if (tooMuch !== null) {
      this.#stream.destroy(new ImapAnswerTooLargeError(`the server sent too much: ${tooMuch}`));
      return false;
    }
    return this.#pass({ ...item, payload: withUsualFlags(payload) });
  }

  #tooMuch({ payload, literals }: Response): string | null {
    const { textBytes, numbersBytes, literalBytes, commandBytes, connectionBytes } = this.#limits;
    const isLong = payload.length > textBytes;
    const most = isLong && NUMBERS.test(startOf(payload)) ? numbersBytes : textBytes;
    if (payload.length > most && !this.#isLongFetch(payload))
      return `a line of ${payload.length} bytes`;
    if (literals.length > MOST_LITERALS) return `${literals.length} literals at once`;
    if (this.#literals > literalBytes)
      return `more than ${literalBytes} bytes of content for one command`;
    if (this.#text > commandBytes)
      return `more than ${commandBytes} bytes of lines for one command`;
    if (this.#total > connectionBytes)
      return `more than ${connectionBytes} bytes before it was verified`;
    return null;
  }

  #pass(item: Response): boolean {
    const { payload } = item;
    const isOfMessage = payload[0] === STAR && isOfSet(payload[2] ?? 0);
    if (this.#isLongFetch(payload)) {
      this.#fetchLeftOut = true;
      item.next();
      return true;
    }
    if (!isOfMessage && this.#isLeftOut(payload)) {
      item.next();
      return true;
    }
    const isLong = payload.length >= LONG_SET;
    if (isLong && item.literals.length === 0 && SEARCH.test(startOf(payload)))
      return this.#pushInPieces(item);
    const isTooMuch = !isOfMessage && isCopyTooLarge(payload);
    const tame = isTooMuch || !isLong ? payload : tamed(payload);
    if (tame !== null && !isTooMuch) return this.#push({ ...item, payload: tame });
    this.#stream.destroy(
      new ImapAnswerTooLargeError('the server sent a line that cannot be parsed'),
    );
    return false;
  }

  #isLongFetch(payload: Buffer): boolean {
    return payload.length > this.#limits.textBytes && FETCH.test(payload.toString('latin1', 0, 24));
  }

  /** Whether the response is dropped, because it is unexpected or too large for the parser. */
  #isLeftOut(payload: Buffer): boolean {
    const start = startOf(payload);
    if (ESEARCH.test(start))
      return !this.#expectsEsearch || countIn(lastWord(payload)) > MOST_FOUND;
    if (!VANISHED.test(start)) return false;
    this.#vanished += countIn(lastWord(payload));
    if (this.#vanished <= MOST_VANISHED) return false;
    this.#leftOut = true;
    return true;
  }

  /**
   * Whether the server may send ESEARCH. If a server without the extension sends it, the response
   * is dropped, because the library would expand its sets.
   */
  get #expectsEsearch(): boolean {
    const { capabilities } = this.client;
    return capabilities.has('ESEARCH') || capabilities.has('IMAP4REV2');
  }

  /**
   * Splits a long SEARCH response into several. RFC 3501 section 7.2.5 does not forbid this, and
   * the library adds the responses up.
   */
  #pushInPieces(item: Response): boolean {
    const { payload } = item;
    const head = payload.subarray(0, '* SEARCH '.length);
    let from = head.length;
    let taken = true;
    while (from < payload.length) {
      const space = payload.indexOf(SPACE, from + PIECE_BYTES);
      const to = space < 0 || payload.length - space < TAIL_BYTES ? payload.length : space;
      const isLast = to >= payload.length;
      const piece = Buffer.concat([head, payload.subarray(from, to)]);
      const next = isLast ? item.next : () => undefined;
      taken = this.#push({
        ...item,
        payload: piece,
        next,
        trailingAfterLine: !isLast || item.trailingAfterLine,
      });
      from = to + 1;
      if (isLast) return taken;
    }
    item.next();
    return taken;
  }
}

const startOf = (payload: Buffer): string => payload.toString('latin1', 0, 16);

function lastWord(payload: Buffer): string {
  const text = payload.toString('latin1').trimEnd();
  return text.slice(text.lastIndexOf(' ') + 1);
}

function isCopyTooLarge(payload: Buffer): boolean {
  // Response codes only occur in tagged lines and in untagged OK responses.
  const [, from = '', to = ''] = COPY_UID.exec(payload.toString('latin1')) ?? [];
  return countIn(from) > MOST_COPIED || countIn(to) > MOST_COPIED;
}

/**
 * How many numbers a set contains: `4:6,9` has four. Invalid parts count as nothing, as in the
 * library.
 */
function countIn(set: string): number {
  let count = 0;
  for (const part of set === '' ? [] : set.split(',')) {
    const [from = 0, to = from] = part.split(':').map(Number);
    if (Number.isFinite(from - to)) count += Math.abs(to - from) + 1;
  }
  return count;
}

const isOfSet = (byte: number) => (byte >= 0x30 && byte <= 0x3a) || byte === 0x2c || byte === STAR;

/**
 * The response with long sets of numbers in quotes. `null` if it contains a word that would take
 * too long to parse.
 */
function tamed(payload: Buffer): Buffer | null {
  const parts: Buffer[] = [];
  let done = 0;
  let at = 0;
  while (at < payload.length) {
    const byte = payload[at] ?? 0;
    if (byte === QUOTE) at = endOfQuoted(payload, at);
    else if (ENDS.has(byte)) at += 1;
    else {
      const word = wordAt(payload, at);
      if (!word.isSet && word.slowSigns > MOST_SLOW_SIGNS) return null;
      if (word.isSet && word.end - at >= LONG_SET) {
        parts.push(
          payload.subarray(done, at),
          Buffer.from('"'),
          payload.subarray(at, word.end),
          Buffer.from('"'),
        );
        done = word.end;
      }
      at = word.end;
    }
  }
  return parts.length === 0 ? payload : Buffer.concat([...parts, payload.subarray(done)]);
}

/** The position after the closing quotation mark, or after the end of the payload. */
function endOfQuoted(payload: Buffer, start: number): number {
  let at = start + 1;
  while (at < payload.length && payload[at] !== QUOTE) at += payload[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

function wordAt(
  payload: Buffer,
  start: number,
): { end: number; isSet: boolean; slowSigns: number } {
  let end = start;
  let isSet = true;
  let slowSigns = 0;
  for (; end < payload.length; end += 1) {
    const byte = payload[end] ?? 0;
    if (byte === QUOTE || ENDS.has(byte)) break;
    if (SLOW_SIGNS.has(byte)) slowSigns += 1;
    isSet &&= isOfSet(byte);
  }
  return { end, isSet, slowSigns };
}
