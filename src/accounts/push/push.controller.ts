import { Controller, Get, Param, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../../platform/auth/access.decorators.ts';
import { clientAddress } from '../../platform/base/client-address.ts';
import type { PushRequest } from '../../providers/port/push-port.ts';
import { PUSH_PATH } from './push-address.ts';
import { PushInbox } from './push-inbox.ts';

/**
 * Receives notifications of providers (docs/network.md). No sign-in is needed: the provider's
 * connector and the secret of the subscription decide what a request may report. Applications do
 * not call these routes.
 */
@ApiExcludeController()
@Public()
@Controller(PUSH_PATH)
export class PushController {
  constructor(private readonly inbox: PushInbox) {}

  @Post(':provider')
  async notify(
    @Req() request: Request,
    @Res() response: Response,
    @Param('provider') provider: string,
  ): Promise<void> {
    await this.#receive(request, response, provider, null);
  }

  @Post(':provider/:integration')
  async notifyIntegration(
    @Req() request: Request,
    @Res() response: Response,
    @Param('provider') provider: string,
    @Param('integration') integration: string,
  ): Promise<void> {
    await this.#receive(request, response, provider, integration);
  }

  @Get(':provider')
  async challenge(
    @Req() request: Request,
    @Res() response: Response,
    @Param('provider') provider: string,
  ): Promise<void> {
    await this.#receive(request, response, provider, null);
  }

  @Get(':provider/:integration')
  async challengeIntegration(
    @Req() request: Request,
    @Res() response: Response,
    @Param('provider') provider: string,
    @Param('integration') integration: string,
  ): Promise<void> {
    await this.#receive(request, response, provider, integration);
  }

  async #receive(
    request: Request,
    response: Response,
    provider: string,
    integrationId: string | null,
  ): Promise<void> {
    const answer = await this.inbox.receive({
      provider,
      integrationId,
      client: clientAddress(request),
      request: toPushRequest(request),
    });
    const { status, body, contentType = 'text/plain' } = answer;
    response.status(status);
    if (body === undefined) response.end();
    // What a handshake echoes comes from outside: a browser must not take it for a page.
    else response.type(contentType).set('X-Content-Type-Options', 'nosniff').send(body);
  }
}

function toPushRequest({ method, headers, query, body }: Request): PushRequest {
  return {
    method: method === 'POST' ? 'POST' : 'GET',
    headers: firstTexts(headers, (values) => values.join(', ')),
    query: firstTexts(query, ([first = '']) => first),
    body: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
  };
}

/** The fields with a text, or several of them; the others are left out. */
function firstTexts(
  fields: Readonly<Record<string, unknown>>,
  join: (values: string[]) => string,
): Record<string, string> {
  const texts = Object.entries(fields).flatMap(([name, value]): [string, string][] => {
    const values = [value].flat().filter((one) => typeof one === 'string');
    return values.length > 0 ? [[name, join(values)]] : [];
  });
  return Object.fromEntries(texts);
}
