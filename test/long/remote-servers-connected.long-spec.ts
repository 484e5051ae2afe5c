import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '../support/until.ts';
import { AttackedServer } from '../hostile/support/attacked-server.ts';
import { HIGHEST_RSS_MB, LONGEST_ANSWER_MS } from '../hostile/support/watch.ts';

const MB = 1024 * 1024;
/**
 * Number of responses to other callers that the test waits for during the attack, one every 25 ms
 * at most.
 */
const ANSWERS = 120;

function* endless(first: string, piece: string): Generator<string> {
  yield first;
  for (;;) yield piece;
}

describe('an IMAP server of a connected account', () => {
  let server: AttackedServer | undefined;
  afterEach(async () => {
    await server?.stop();
    server = undefined;
  });

  it.each([
    [
      'sends 100 MB in place of a small message',
      'UID FETCH',
      '* 1 FETCH (UID 1 BODY[] {104857600}\r\n',
      'x'.repeat(MB),
    ],
    [
      'reports messages without end',
      'UID FETCH',
      '* OK begin\r\n',
      '* 1 FETCH (UID 7 FLAGS () INTERNALDATE "01-Jan-2026 00:00:00 +0000")\r\n'.repeat(1_000),
    ],
    [
      'lists folders without end',
      'LIST',
      '* OK begin\r\n',
      '* LIST () "/" "a folder of many"\r\n'.repeat(1_000),
    ],
    [
      'reports sixteen million vanished messages in each line',
      'UID FETCH',
      '* OK begin\r\n',
      '* VANISHED 1:16777216\r\n'.repeat(1_000),
    ],
  ])('that %s slows no other caller and takes little memory', async (_, name, first, piece) => {
    const attacked = await AttackedServer.start();
    server = attacked;
    const attacks: string[] = [];
    let attacking = false;
    const { imap, settings } = await attacked.mailbox({
      answer: (command) => {
        if (!attacking || command.name !== name) return undefined;
        attacks.push(command.text);
        return { send: endless(first, piece) };
      },
    });
    imap.deliver({ raw: 'From: eve@evil.test\r\nSubject: Bait\r\n\r\nHello\r\n' });
    const { bearer } = await attacked.connect('held@example.test', settings);
    await until('the first message', async () => {
      const { body } = await attacked.send('GET', '/messages', bearer);
      return Array.isArray(body) && body.length === 1;
    });
    const stop = attacked.watch();
    attacking = true;
    imap.deliver({ raw: 'From: eve@evil.test\r\nSubject: More\r\n\r\nHello\r\n' });
    await until('the attack', () => Promise.resolve(attacks.length > 0), 90_000);
    let answers = 0;
    await until('other callers to get responses', async () => {
      const { status } = await attacked.send('GET', '/health/live');
      answers += status === 200 ? 1 : 0;
      return answers === ANSWERS;
    });
    const watched = await stop();
    expect(watched.failures).toEqual([]);
    expect(watched.longestMs).toBeLessThan(LONGEST_ANSWER_MS);
    expect(watched.highestRssMb).toBeLessThan(HIGHEST_RSS_MB);
  });
});
