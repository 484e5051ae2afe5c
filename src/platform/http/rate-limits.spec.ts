import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { AppConfig } from '../config/app-config.ts';
import { RateLimits } from './rate-limits.ts';

const CALLER = { applicationId: 'app', accountId: 'account' };
const LIMITS = { applicationPerSecond: 0, accountPerSecond: 0, accountConcurrent: 2 };

describe('RateLimits', () => {
  const limits = new RateLimits({ rateLimits: LIMITS } as AppConfig);
  const server = http.createServer();
  const opened: http.ClientRequest[] = [];

  /** Sends a request that is not answered. */
  async function begin(): Promise<{
    context: ExecutionContextHost;
    client: http.ClientRequest;
    response: http.ServerResponse;
  }> {
    const { port } = server.address() as AddressInfo;
    const client = http.get({ port, path: '/messages' });
    client.on('error', () => undefined);
    opened.push(client);
    const [request, response] = (await once(server, 'request')) as [
      http.IncomingMessage,
      http.ServerResponse,
    ];
    const express = Object.assign(request, { path: '/messages', ip: '127.0.0.1' });
    return { context: new ExecutionContextHost([express, response]), client, response };
  }

  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => {
    opened.forEach((client) => client.destroy());
    server.close();
  });

  it('counts a request as simultaneous until its response is complete', async () => {
    const [first, second, third] = [await begin(), await begin(), await begin()];
    await limits.count(first.context, CALLER);
    await limits.count(second.context, CALLER);
    await expect(limits.count(third.context, CALLER)).rejects.toThrow(/Too many concurrent/);
    first.response.end('ok');
    await limits.count(third.context, CALLER);
    const fourth = await begin();
    await expect(limits.count(fourth.context, CALLER)).rejects.toThrow(/Too many concurrent/);
    second.client.destroy();
    await once(second.response, 'close');
    await limits.count(fourth.context, CALLER);
    third.response.end();
    fourth.response.end();
  });

  it('does not count a request whose client has gone before it was counted', async () => {
    for (let number = 0; number < LIMITS.accountConcurrent + 1; number += 1) {
      const { context, client, response } = await begin();
      client.destroy();
      await once(response, 'close');
      await limits.count(context, CALLER);
    }
    const { context, response } = await begin();
    await limits.count(context, CALLER);
    response.end();
  });
});
