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

  /** Resolves to the status once the whole response has arrived. */
  async function post(path: string, body: string, headers: object): Promise<number> {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    await response.arrayBuffer();
    return response.status;
  }

  async function watched(work: () => Promise<void>): Promise<Watched> {
    const stop = server.watch();
    return work().then(stop, async (error) => {
      await stop();
      throw error;
    });
  }

  it('are not parsed without valid credentials, however many connections send them', async () => {
    const bodies = times(16, namesOf);
    const { failures, longestMs } = await watched(async () => {
      for (const headers of [{}, { authorization: 'Bearer wrong' }]) {
        const answers = await Promise.all(bodies.map((body) => post('/drafts', body, headers)));
        expect(answers).toEqual(bodies.map(() => 401));
      }
    });
    expect(failures).toEqual([]);
    expect(longestMs).toBeLessThan(LONGEST_ANSWER_MS);
  });

  it('are parsed a few at a time if they are large, and all are accepted', async () => {
    const body = JSON.stringify({ subject: 'Large', body: 'x'.repeat(9 * MB) });
    const { failures, highestRssMb } = await watched(async () => {
      const answers = await Promise.all(
        times(12, () => post('/drafts', body, server.bystander.bearer)),
      );
      expect(answers).toEqual(times(12, () => 200));
    });
    expect(failures).toEqual([]);
    expect(highestRssMb).toBeLessThan(HIGHEST_RSS_MB);
  });
});
