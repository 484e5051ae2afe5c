import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { SystemClock } from '../../platform/base/time/clock.ts';
import { EgressClient } from '../../platform/egress/egress-client.ts';
import { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import { RestClient } from './rest-client.ts';

describe('RestClient', () => {
  let server: Server;
  let egress: EgressClient;
  let client: RestClient;
  let url: string;
  let received: {
    method?: string;
    url?: string;
    headers: IncomingMessage['headers'];
    body: string;
  };
  let answer: { status: number; body: string };
  beforeAll(async () => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method, headers } = request;
        received = {
          ...(method ? { method } : {}),
          ...(request.url ? { url: request.url } : {}),
          headers,
          body: Buffer.concat(chunks).toString(),
        };
        if (answer.status === 0) return void request.socket.destroy();
        response.writeHead(answer.status);
        response.end(answer.body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    egress = new EgressClient(new EgressPolicy(['127.0.0.0/8']));
    client = new RestClient(egress, new SystemClock(), {
      service: 'Example',
      toError: ({ status }) => new ProviderError('rejected', `Example: ${status}`),
    });
  });
  afterAll(async () => {
    await egress.onApplicationShutdown();
    await new Promise((resolve) => server.close(resolve));
  });

  const shape = z.object({ id: z.string() });
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'succeeded',
      (error: unknown) => (error as ProviderError).code,
    );

  it('sends the token, the query and the JSON, and returns the fields that are expected', async () => {
    answer = { status: 200, body: '{"id":"1","more":true}' };
    const read = await client.read(
      'secret',
      {
        method: 'POST',
        url: `${url}/things`,
        query: { ids: ['a', 'b'], none: undefined, max: 5, q: 'x&y' },
        json: { name: 'Ä' },
      },
      shape,
    );
    expect(read).toEqual({ id: '1' });
    expect(received).toMatchObject({
      method: 'POST',
      url: '/things?ids=a&ids=b&max=5&q=x%26y',
      body: '{"name":"Ä"}',
    });
    expect(received.headers).toMatchObject({
      authorization: 'Bearer secret',
      'content-type': 'application/json',
    });
  });

  it('sends no token if it gets none', async () => {
    answer = { status: 204, body: '' };
    await client.send(undefined, { method: 'PUT', url, body: Buffer.from('bytes') });
    expect(received.headers.authorization).toBeUndefined();
    expect(received.body).toBe('bytes');
  });

  it('throws the error of the API for every status that is not a success', async () => {
    for (const status of [302, 400, 404, 500]) {
      answer = { status, body: '{}' };
      expect(await codeOf(client.send('secret', { method: 'POST', url }))).toBe('rejected');
    }
  });

  it('treats a lost response as an unknown outcome, unless the request may be repeated', async () => {
    for (const lost of [
      { status: 0, body: '' },
      { status: 504, body: '' },
    ]) {
      answer = lost;
      expect(await codeOf(client.send('secret', { method: 'POST', url, json: {} }))).toBe(
        'outcome-unknown',
      );
    }
    answer = { status: 0, body: '' };
    const repeatable = { method: 'POST', url, json: {}, repeatable: true } as const;
    expect(await codeOf(client.send('secret', repeatable))).toBe('temporary');
    expect(await codeOf(client.send('secret', { method: 'GET', url }))).toBe('temporary');
  });

  it('knows that a request which found no server has not taken effect', async () => {
    const nowhere = { method: 'POST', url: 'http://127.0.0.1:1/', json: {} } as const;
    expect(await codeOf(client.send('secret', nowhere))).toBe('temporary');
  });

  it('refuses a response that is larger than its limit or has another form', async () => {
    answer = { status: 200, body: JSON.stringify({ id: 'x'.repeat(100) }) };
    const small = { method: 'GET', url, maxBodyBytes: 50 } as const;
    expect(await codeOf(client.read('secret', small, shape))).toBe('temporary');
    answer = { status: 200, body: '{"id":1}' };
    await expect(client.read('secret', { method: 'GET', url }, shape)).rejects.toThrow(
      'Example: the response has an unexpected form (id)',
    );
  });
});
