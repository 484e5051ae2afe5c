import { Body, Controller, Post, Query, Req, Res } from '@nestjs/common';
import { ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { z } from 'zod';
import { Access, AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import {
  AcceptsIdempotencyKey,
  IdempotentCall,
} from '../../platform/idempotency/idempotency-key.decorator.ts';
import type { IdempotentRequest } from '../../platform/idempotency/idempotency-keys.ts';
import { writeResponse, OutboxRequests } from '../outbox/accept/outbox-requests.ts';
import { outboxMessage } from '../outbox/outbox.schema.ts';
import { sendNowOrLater, type SendNowOrLater, sendQuery, v2SendAnswer } from './send.schema.ts';
import { type SendCall, SendService } from './send.service.ts';
import { SentViews, shownTo } from './sent-view.ts';

const WRITE = { anyScope: SCOPES_FOR.sendMail, write: true } as const;

/** The newer path for both kinds of sending: now, or through the outbox. */
@ApiTags('send')
@AccountAuth({ anyScope: SCOPES_FOR.sendMail })
@Controller('v2/send')
export class V2SendController {
  constructor(
    private readonly sends: SendService,
    private readonly views: SentViews,
    private readonly outbox: OutboxRequests,
  ) {}

  @Post()
  @Access(WRITE)
  @ApiErrors(402, 404, 409, 413, 429, 503)
  @AcceptsIdempotencyKey()
  @ApiResponse({
    status: 202,
    description: 'With sendnow=false: accepted',
    standardSchema: outboxMessage,
  })
  @Endpoint({
    summary: 'Send a message now, or leave it to the outbox',
    description: '`sendnow=false`: like `POST /v2/outbox`. Otherwise like `POST /send`.',
    response: v2SendAnswer,
    headers: {
      'Idempotent-Replayed':
        '`true` if this is the response to an earlier request with this Idempotency-Key',
    },
  })
  async send(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: sendQuery }) { sendnow: now = true, dry_run }: z.infer<typeof sendQuery>,
    @Body({ schema: sendNowOrLater }) body: SendNowOrLater,
    @IdempotentCall() idempotent: IdempotentRequest | undefined,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<unknown> {
    if (!now) {
      if (body.draft_id) throw new InvalidInputError('draft_id: not allowed with sendnow=false');
      return writeResponse(
        await this.outbox.create(account, { dry_run }, body, idempotent),
        response,
      );
    }
    if (body.send_at) throw new InvalidInputError('send_at: only allowed with sendnow=false');
    if (dry_run) throw new InvalidInputError('dry_run: only allowed with sendnow=false');
    const isGone = () => response.destroyed || request.socket.destroyed;
    const toResponse: SendCall['toResponse'] = (sent, files) => this.views.of(account, sent, files);
    const call = { account, idempotent, isGone, toResponse };
    const { body: answer, replayed } = await this.sends.send(call, body);
    if (replayed) response.setHeader('Idempotent-Replayed', 'true');
    return shownTo(account, body, answer);
  }
}
