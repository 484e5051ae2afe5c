import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AttackedServer } from './support/attacked-server.ts';
import { HIGHEST_RSS_MB, LONGEST_ANSWER_MS, type Watched } from './support/watch.ts';

const MB = 2 ** 20;
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Three objects with 99,000 names each. They take 0.2 s or more to parse. */
function namesOf(tag: number): string {
  const object = `{${times(99_000, (index) => `"${tag}-${index}":0`).join(',')}}`;
  return `[${object},${object.replaceAll('-', '+')},${object.replaceAll('-', '*')}]`;
}

describe('request bodies made to take time or memory', () => {
  let server: AttackedServer;

  beforeAll(async () => {
    server = await AttackedServer.start();
  });
  afterAll(() => server.stop());

  const post = (path: string, body: string, headers: object = {}) =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });

  async function watched(work: () => Promise<void>): Promise<Watched> {
    const stop = server.watch();
    return work().then(stop, async (error) => {
      await stop();
      throw error;
    });
  }

  it.each([
    ['a wrong token', 401, { authorization: 'Bearer wrong' }],
    ['no credentials', 401, {}],
  ])('are not parsed with %s, however many connections send them', async (_, status, headers) => {
    const bodies = times(16, namesOf);
    const { failures, longestMs } = await watched(async () => {
      for (let round = 0; round < 3; round += 1) {
        const answers = await Promise.all(bodies.map((body) => post('/drafts', body, headers)));
        expect(answers.map((answer) => answer.status)).toEqual(bodies.map(() => status));
      }
    });
    expect(failures).toEqual([]);
    expect(longestMs).toBeLessThan(LONGEST_ANSWER_MS);
  });

  it('are parsed a few at a time if they are large, and all are accepted', async () => {
    const body = JSON.stringify({ subject: 'Large', body: 'x'.repeat(9 * MB) });
    const { failures, highestRssMb } = await watched(async () => {
      const sent = times(12, () => post('/drafts', body, server.bystander.bearer));
      const answers = await Promise.all(sent);
      expect(answers.map((answer) => answer.status)).toEqual(times(12, () => 200));
    });
    expect(failures).toEqual([]);
    expect(highestRssMb).toBeLessThan(HIGHEST_RSS_MB);
  });
});
