import { Readable } from 'node:stream';
import type { ImapFlow } from 'imapflow';
import { ANSWER_LIMITS, type AnswerLimits, ImapInput, VERIFY_LIMITS } from './imap-input.ts';

/** The used parts of the library's stream: everything pushed is what its parser would get. */
function inputOf(
  limits: AnswerLimits = ANSWER_LIMITS,
  capabilities: readonly string[] = ['ESEARCH'],
) {
  const passed: string[] = [];
  let error: unknown = null;
  let settled = 0;
  const stream = new Readable({ objectMode: true, read: () => undefined });
  stream.on('error', (reason) => (error = reason));
  stream.push = (item: { payload: Buffer; next: () => void }) => {
    passed.push(item.payload.toString());
    item.next();
    return true;
  };
  const client = {
    streamer: stream,
    capabilities: new Map(capabilities.map((name) => [name, true])),
  };
  const input = new ImapInput(client as unknown as ImapFlow, limits);
  const send = (payload: string, literals: Buffer[] = []) =>
    (stream.push as (item: unknown) => boolean)({
      payload: Buffer.from(payload),
      literals,
      next: () => (settled += 1),
      trailingAfterLine: false,
    });
  const failure = async () => {
    await new Promise((resolve) => void setImmediate(resolve));
    return error === null ? null : (error as Error).message;
  };
  return { input, send, passed, failure, settled: () => settled };
}

const set = (length: number) => Array.from({ length }, (_, at) => 2 * at + 1).join(',');

describe('the responses of an IMAP server', () => {
  it('reach the parser unchanged', async () => {
    const { send, passed, failure } = inputOf();
    const lines = [
      '* OK hello',
      '* 1 FETCH (UID 1 FLAGS (\\Seen))',
      '* VANISHED (EARLIER) 1:5,9',
      'A1 OK done',
    ];
    for (const line of lines) send(line);
    expect([passed, await failure()]).toEqual([lines, null]);
  });

  it('do not block other work when very many lines arrive, even dropped ones', async () => {
    const { send, settled } = inputOf();
    let turns = 0;
    const end = performance.now() + 200;
    while (performance.now() < end) {
      const before = settled();
      send('* VANISHED 1:16777216');
      if (settled() > before) continue;
      await new Promise((resolve) => void setImmediate(resolve));
      turns += 1;
    }
    expect(turns).toBeGreaterThan(3);
  });

  it('reach the parser with long sets of numbers in quotes, which it reads a thousand times faster', async () => {
    const { send, passed, failure } = inputOf();
    const long = set(2_000);
    send(`* VANISHED (EARLIER) ${long}`);
    send(`* ESEARCH (TAG "A1") UID ALL ${long}`);
    send(`A1 OK [COPYUID 7 ${long} ${long}] copied, all of them`);
    send(`* 1 FETCH (BODY ("text" "plain" ("name" "${long}")))`);
    expect(passed).toEqual([
      `* VANISHED (EARLIER) "${long}"`,
      `* ESEARCH (TAG "A1") UID ALL "${long}"`,
      `A1 OK [COPYUID 7 "${long}" "${long}"] copied, all of them`,
      `* 1 FETCH (BODY ("text" "plain" ("name" "${long}")))`,
    ]);
    expect(await failure()).toBeNull();
  });

  it('reach the parser in pieces if a list is long, with every number exactly once', async () => {
    const { send, passed, settled, failure } = inputOf();
    const numbers = Array.from({ length: 100_000 }, (_, at) => `${1_000_000 + at}`);
    send(`* SEARCH ${numbers.join(' ')} (MODSEQ 917162500)`);
    expect(passed.length).toBeGreaterThan(10);
    expect(passed.every((line) => line.startsWith('* SEARCH '))).toBe(true);
    expect(passed.at(-1)).toMatch(/ \(MODSEQ 917162500\)$/);
    const found = passed.flatMap((line) => line.match(/\b1\d{6}\b/g) ?? []);
    expect(found).toEqual(numbers);
    // On a slow machine the parser pauses once before it is finished.
    expect([await failure(), settled()]).toEqual([null, 1]);
  });

  it('are dropped and reported if they name too many vanished messages', async () => {
    const { input, send, passed, settled, failure } = inputOf();
    send('* VANISHED 1:16777216');
    expect([passed, input.takeLeftOut(), input.takeLeftOut()]).toEqual([[], true, false]);
    // On a slow machine the next line is asked for one turn later.
    expect([await failure(), settled()]).toEqual([null, 1]);
    send('A1 OK done');
    send('* VANISHED 1:1000');
    expect([passed.length, input.takeLeftOut(), await failure()]).toEqual([2, false, null]);
  });

  it('are dropped and reported if the structure of a message is too long to be parsed', async () => {
    const { input, send, passed, settled, failure } = inputOf();
    send(`* 1 FETCH (UID 1 BODYSTRUCTURE (${'("text" "plain")'.repeat(50_000)} "mixed"))`);
    expect([passed, input.takeFetchLeftOut(), input.takeFetchLeftOut()]).toEqual([[], true, false]);
    // On a slow machine the next line is asked for one turn later.
    expect([await failure(), settled()]).toEqual([null, 1]);
  });

  it('are dropped if a server sends ESEARCH without offering it', () => {
    const { send, passed } = inputOf(ANSWER_LIMITS, []);
    send('* ESEARCH UID ALL 1:16777216');
    expect(passed).toEqual([]);
  });

  it.each([
    ['a long line', ANSWER_LIMITS, [`* X ${'a '.repeat(300_000)}`], 'a line of'],
    [
      'a list of numbers beyond its own limit',
      ANSWER_LIMITS,
      [`* SEARCH ${'1 '.repeat(5_000_000)}`],
      'a line of',
    ],
    [
      'many lines for one command',
      ANSWER_LIMITS,
      Array.from({ length: 70 }, () => `* X ${'a '.repeat(250_000)}`),
      'bytes of lines for one command',
    ],
    [
      'more than is accepted before the account is verified',
      VERIFY_LIMITS,
      Array.from({ length: 5 }, (_, at) => `A${at} OK ${'x '.repeat(30_000)}`),
      'before it was verified',
    ],
    ['brackets in one word', ANSWER_LIMITS, [`* OK ${'['.repeat(300)}`], 'cannot be parsed'],
    ['colons in one word', ANSWER_LIMITS, [`* X a${':'.repeat(300)}`], 'cannot be parsed'],
    [
      'copies of an unlimited number of messages',
      ANSWER_LIMITS,
      ['A1 OK [COPYUID 1 1:16777216 1:16777216] done'],
      'cannot be parsed',
    ],
  ] as [string, AnswerLimits, string[], string][])(
    'end the connection if they contain %s',
    async (_what, limits, lines, words) => {
      const { send, failure } = inputOf(limits);
      for (const line of lines) send(line);
      expect(await failure()).toContain(words);
    },
  );

  it('end the connection if the contents for one command exceed the limit', async () => {
    const { input, send, failure } = inputOf();
    await input.within({ literalBytes: 1_000 }, async () => {
      send('* 1 FETCH (BODY[] {800}', [Buffer.alloc(800)]);
      send('A1 OK done');
      send('* 2 FETCH (BODY[] {800}', [Buffer.alloc(800)]);
      expect(await failure()).toBeNull();
      send('* 3 FETCH (BODY[] {800}', [Buffer.alloc(800)]);
    });
    expect(await failure()).toContain('1000 bytes of content for one command');
  });

  it('end the connection if they contain very many literals at once', async () => {
    const { send, failure } = inputOf();
    send(
      '* X',
      Array.from({ length: 30_000 }, () => Buffer.alloc(0)),
    );
    expect(await failure()).toContain('30000 literals');
  });
});
