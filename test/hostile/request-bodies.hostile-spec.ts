import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AttackedServer } from './support/attacked-server.ts';

const MB = 2 ** 20;
/** One more than one account could send at a time before they had a budget. */
const DRAFTS = 9;
/** Half of what the shipped containers have, in MB. Without a budget twelve drafts took 1,400. */
const MOST_RSS_MB = 1_000;

describe('large request bodies', () => {
  let server: AttackedServer;

  beforeAll(async () => {
    server = await AttackedServer.start();
  });
  afterAll(() => server.stop());

  /** Resolves to the status once the whole response has arrived. */
  async function createDraft(body: string): Promise<number> {
    const response = await fetch(`${server.url}/drafts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...server.bystander.bearer },
      body,
    });
    await response.arrayBuffer();
    return response.status;
  }

  it('are processed a few at a time, and all are accepted', async () => {
    const body = JSON.stringify({ subject: 'Large', body: 'x'.repeat(9 * MB) });
    const stop = server.watch();
    const sent = Array.from({ length: DRAFTS }, () => createDraft(body));
    const results = await Promise.allSettled(sent);
    const { failures, highestRssMb } = await stop();
    expect(results).toEqual(sent.map(() => ({ status: 'fulfilled', value: 200 })));
    expect(failures).toEqual([]);
    expect(highestRssMb).toBeLessThan(MOST_RSS_MB);
  });
});
