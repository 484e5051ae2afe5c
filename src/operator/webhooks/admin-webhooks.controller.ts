import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../../platform/audit/actor.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { CurrentActor, OperatorAccess } from '../access/operator-access.decorators.ts';
import {
  toAttemptQuery,
  toAttemptsView,
  toOperatorWebhooksView,
  toReplay,
  toReplayView,
  toWebhookDetailsView,
  toWebhookQuery,
} from './admin-webhooks.mapper.ts';
import {
  type ListAttemptsQuery,
  listAttemptsQuery,
  type ListOperatorWebhooksQuery,
  listOperatorWebhooksQuery,
  operatorAttempts,
  operatorWebhookDetails,
  operatorWebhooks,
  type PauseWebhook,
  pauseWebhookSchema,
  type ReplayInput,
  replayResult,
  replaySchema,
} from './admin-webhooks.schema.ts';
import { OperatorWebhooks } from './operator-webhooks.ts';

@ApiTags('webhooks')
@OperatorAccess('operate')
@Controller('admin/webhooks')
export class AdminWebhooksController {
  constructor(private readonly webhooks: OperatorWebhooks) {}

  @Get()
  @OperatorAccess('read')
  @Endpoint({
    summary: 'List the webhooks of all applications',
    description: 'Failed ones first, then failing ones, longest first; then the newest.',
    response: operatorWebhooks,
  })
  async list(@Query({ schema: listOperatorWebhooksQuery }) query: ListOperatorWebhooksQuery) {
    const { filter, page } = toWebhookQuery(query);
    return toOperatorWebhooksView(await this.webhooks.list(filter, page));
  }

  @Get(':id')
  @ApiErrors(404)
  @OperatorAccess('read')
  @Endpoint({ summary: 'Read a webhook', response: operatorWebhookDetails })
  async get(@Param('id') id: string) {
    return toWebhookDetailsView(await this.webhooks.get(id));
  }

  @Get(':id/attempts')
  @ApiErrors(404)
  @OperatorAccess('read')
  @Endpoint({
    summary: 'List delivery attempts with the answers of the receiver',
    description: 'Attempts of the last 30 days, newest first.',
    response: operatorAttempts,
  })
  async attempts(
    @Param('id') id: string,
    @Query({ schema: listAttemptsQuery }) query: ListAttemptsQuery,
  ) {
    const { filter, page } = toAttemptQuery(query);
    return toAttemptsView(await this.webhooks.attempts(id, filter, page));
  }

  @Post(':id/replay')
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'Deliver stored events again: one, those of a span, or all that failed',
    description:
      'Events are stored for 7 days. The receiver sees the same event ids. `dry_run` is true unless you send false. 409: activate the webhook first.',
    response: replayResult,
  })
  async replay(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Body({ schema: replaySchema }) body: ReplayInput,
  ) {
    return toReplayView(await this.webhooks.replay(actor, id, toReplay(body)));
  }

  @Post(':id/pause')
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'Stop the deliveries of a webhook',
    description:
      'The webhook becomes `failed`: its events stay stored, and those of 72 hours are delivered once it is activated. Its owner can activate it, too.',
    response: operatorWebhookDetails,
  })
  async pause(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Body({ schema: pauseWebhookSchema }) { reason }: PauseWebhook,
  ) {
    return toWebhookDetailsView(await this.webhooks.pause(actor, id, reason));
  }

  @Post(':id/activate')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Activate a webhook that failed, was paused or is inactive',
    description:
      'The receiver has to pass the challenge. After `failed`, the events of the last 72 hours that it missed are delivered.',
    response: operatorWebhookDetails,
  })
  async activate(@CurrentActor() actor: Actor, @Param('id') id: string) {
    return toWebhookDetailsView(await this.webhooks.activate(actor, id));
  }
}
