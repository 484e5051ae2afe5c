import { Body, Controller, Post, Req, Res } from '@nestjs/common';
import { ApiConsumes, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Access, AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import {
  AcceptsIdempotencyKey,
  IdempotentCall,
} from '../../platform/idempotency/idempotency-key.decorator.ts';
import type { IdempotentRequest } from '../../platform/idempotency/idempotency-keys.ts';
import { changedMessageView } from '../messages/messages.schema.ts';
import { sendMessage, type SendMessage } from './send.schema.ts';
import { type SendCall, SendService } from './send.service.ts';
import { SentViews, shownTo } from './sent-view.ts';

const RAW = /^message\/rfc822\b/i;
const WRITE = { anyScope: SCOPES_FOR.sendMail, write: true } as const;

@ApiTags('send')
@AccountAuth({ anyScope: SCOPES_FOR.sendMail })
@Controller('send')
export class SendController {
  constructor(
    private readonly sends: SendService,
    private readonly views: SentViews,
  ) {}

  @Post()
  @Access(WRITE)
  @ApiErrors(402, 404, 409, 413, 429, 503)
  @ApiConsumes('application/json', 'message/rfc822')
  @AcceptsIdempotencyKey()
  @Endpoint({
    summary: 'Send a message and wait for the result',
    description:
      'The message gets a single attempt, and the response reports the result. The body is a message (JSON), a stored draft (`draft_id` and `version`), or a message that is composed already (`Content-Type: message/rfc822`).',
    response: changedMessageView,
    headers: {
      'Idempotent-Replayed':
        '`true` if an earlier request with this Idempotency-Key has sent the message',
    },
  })
  async send(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: sendMessage }) body: SendMessage,
    @IdempotentCall() idempotent: IdempotentRequest | undefined,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ) {
    const isGone = () => response.destroyed || request.socket.destroyed;
    const toResponse: SendCall['toResponse'] = (sent, files) => this.views.of(account, sent, files);
    const call = { account, idempotent, isGone, toResponse };
    const isRaw = RAW.test(request.headers['content-type'] ?? '');
    const { body: answer, replayed } = isRaw
      ? await this.sends.sendRaw(call, request, request.headers)
      : await this.sends.send(call, body);
    if (replayed) response.setHeader('Idempotent-Replayed', 'true');
    return shownTo(account, body, answer);
  }
}
