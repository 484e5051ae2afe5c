import http from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import request from 'supertest';
import { onTestServer } from '../support/test-database.ts';
import { until } from '../support/until.ts';

describe('a wait in vain', () => {
  it('ends with the rows that it read last', async () => {
    const wait = until(
      'a row with 2',
      async () => {
        let found = false;
        await onTestServer(async (client) => {
          const { rows } = await client.query<{ one: number }>('select 1 as one');
          found = rows[0]?.one === 2;
        });
        return found;
      },
      0,
    );
    await expect(wait).rejects.toThrow('waited in vain for: a row with 2; last seen: [{"one":1}]');
  });

  it('ends with the response that it read last', async () => {
    const server = http.createServer((_, response) => response.writeHead(418).end('teapot'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const wait = until('coffee', async () => (await request(url).get('/')).status === 200, 0);
      await expect(wait).rejects.toThrow('waited in vain for: coffee; last seen: 418 teapot');
    } finally {
      server.close();
    }
  });

  it('says after ten seconds what it has read so far', async () => {
    const printed = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    try {
      let done = false;
      const wait = until('the end', () => Promise.resolve(done));
      await jest.advanceTimersByTimeAsync(9_000);
      expect(printed).not.toHaveBeenCalled();
      await jest.advanceTimersByTimeAsync(10_000);
      expect(printed.mock.calls).toEqual([['has waited for 10 s for: the end\n']]);
      done = true;
      await jest.advanceTimersByTimeAsync(1_000);
      await expect(wait).resolves.toBe(true);
    } finally {
      jest.useRealTimers();
      printed.mockRestore();
    }
  });
});
