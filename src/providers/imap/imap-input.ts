import type { Transform } from 'node:stream';
import type { ImapFlow } from 'imapflow';

/** How much a server may answer. Bytes. */
export interface AnswerLimits {
  /** For one response without its literals: beyond that the connection is cut. FETCH responses are left out, up to `lineBytes`. */
  textBytes: number;
  /** For one line, whatever it is. */
  lineBytes: number;
  /** As `textBytes`, for lists of message numbers (SEARCH, ESEARCH, VANISHED). */
  numbersBytes: number;
  /** For one literal, and for all literals that come in answer to one command. */
  literalBytes: number;
  /** For all responses to one command, without their literals. */
  commandBytes: number;
  /** For everything a connection ever brings; `Infinity` for connections of accounts. */
  connectionBytes: number;
}

/** For the content of one message that somebody asks for as a whole. Bytes. */
export const CONTENT_BYTES = 128 * 1024 * 1024;

/** Of accounts that are connected. What fetches contents asks for more literals (`answersWithin`). */
export const ANSWER_LIMITS: AnswerLimits = {
  textBytes: 512 * 1024,
  lineBytes: 32 * 1024 * 1024,
  numbersBytes: 8 * 1024 * 1024,
  literalBytes: 4 * 1024 * 1024,
  commandBytes: 32 * 1024 * 1024,
  connectionBytes: Infinity,
};

/** While an account is being verified. */
export const VERIFY_LIMITS: AnswerLimits = {
  textBytes: 64 * 1024,
  lineBytes: 64 * 1024,
  numbersBytes: 64 * 1024,
  literalBytes: 64 * 1024,
  commandBytes: 256 * 1024,
  connectionBytes: 256 * 1024,
};

/** A response as the library's stream hands it to its parser. */
interface Response {
  payload: Buffer;
  literals: Buffer[];
  next: () => void;
  trailingAfterLine: boolean;
}

/** What is used of the library's stream (imapflow 2.1). */
type ResponseStream = Transform & { maxLiteralSize: number; maxResponseSize: number };

/** Literals of one response: the library takes them from an array whose cost grows with the square beyond this. */
const MOST_LITERALS = 20_000;
/** A list of numbers is parsed in pieces of so many bytes: other work gets its turn in between. */
const PIECE_BYTES = 16 * 1024;
/**
 * From this length on a set of numbers is put in quotes before it is parsed: as it is, the library needs time in the square
 * of its length (1 MB: four minutes; in quotes a tenth of a second).
 */
const LONG_SET = 256;
/** As many of `SLOW_SIGNS` in one word cost the library time in the square of its length. */
const MOST_SLOW_SIGNS = 64;
/** A list of numbers is not cut so close to its end, where `(MODSEQ 7)` may stand. Bytes. */
const TAIL_BYTES = 64;
/** Messages that are gone, of which a server may tell in answer to one command. The library makes an event of each. */
const MOST_VANISHED = 200_000;
/** Messages an ESEARCH response may name: for some searches the library keeps each number. */
const MOST_FOUND = 2_000_000;

/** Responses are read for so long before other work of the process has its turn. Milliseconds. */
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
/** A word of the protocol ends with one of these. */
const ENDS = codesOf(' ()]\r\n');
const SLOW_SIGNS = codesOf('[:,\\');

/** The server answered more than is taken. The name of the code begins like those of the library. */
export class ImapAnswerTooLargeError extends Error {
  override name = 'ImapAnswerTooLargeError';
  readonly code = 'ResponseTooLarge';
}

/** Stands between what a server sends and the library's parser, and bounds what the parser may cost. */
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
  /** `performance.now()` of the first response in this turn of the event loop; null: there was none yet. */
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

  /** Does work under other limits. */
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

  /** Whether the server told of more vanished messages since the last time than are taken: those were left out. */
  takeLeftOut(): boolean {
    const leftOut = this.#leftOut;
    this.#leftOut = false;
    return leftOut;
  }

  /** Whether a FETCH response since the last time was too long to be parsed, as the structure of a mail with thousands of parts. */
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
   * The library goes through ten chunks, 640 kB or some ten thousand lines, before anything else of the process runs: a
   * server that sends without end would hold up all other requests for seconds.
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
      this.#stream.destroy(new ImapAnswerTooLargeError(`the server answered too much: ${tooMuch}`));
      return false;
    }
    return this.#pass(item);
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
      new ImapAnswerTooLargeError('the server answered a line that cannot be parsed'),
    );
    return false;
  }

  #isLongFetch(payload: Buffer): boolean {
    return payload.length > this.#limits.textBytes && FETCH.test(payload.toString('latin1', 0, 24));
  }

  /** Whether the parser goes on without it. */
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

  /** A server without the extension that uses it all the same would have the library expand its sets. */
  get #expectsEsearch(): boolean {
    const { capabilities } = this.client;
    return capabilities.has('ESEARCH') || capabilities.has('IMAP4REV2');
  }

  /** Several SEARCH responses are as good as a long one (RFC 3501 7.2.5 does not forbid them, and the library adds them up). */
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
  // A tagged line, or an untagged OK: only those have response codes.
  const [, from = '', to = ''] = COPY_UID.exec(payload.toString('latin1')) ?? [];
  return countIn(from) > MOST_COPIED || countIn(to) > MOST_COPIED;
}

/** How many numbers a set has: `4:6,9` four. Parts that are no numbers count for nothing, as for the library. */
function countIn(set: string): number {
  let count = 0;
  for (const part of set === '' ? [] : set.split(',')) {
    const [from = 0, to = from] = part.split(':').map(Number);
    if (Number.isFinite(from - to)) count += Math.abs(to - from) + 1;
  }
  return count;
}

const isOfSet = (byte: number) => (byte >= 0x30 && byte <= 0x3a) || byte === 0x2c || byte === STAR;

/** The response with long sets of numbers in quotes; null: it has a word that would take too long to parse. */
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

/** Just behind the closing quotation mark, or the end. */
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
