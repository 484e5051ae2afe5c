import { Body, Controller, Get, Post, Query, Req, Res } from '@nestjs/common';
import { ApiParam, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import {
  ApplicationId,
  ApplicationSecretAuth,
  CurrentApplication,
} from '../../auth/access.decorators.ts';
import { PresentedToken } from '../../auth/presented-token.ts';
import type { ApplicationPrincipal } from '../../auth/principal.ts';
import { keepSmall } from '../../base/large-responses.ts';
import { Endpoint } from '../../http/endpoint.decorator.ts';
import { ApiErrors } from '../../http/errors/error.schema.ts';
import { DELTA_LINES, sendDeltaLines } from '../../http/responses/delta-lines.ts';
import { sendAscii } from '../../http/responses/json-responses.ts';
import { FeedWaits } from './feed-waits.ts';
import { toFeedView } from './feed.mapper.ts';
import {
  type Acknowledge,
  acknowledgedView,
  acknowledgeSchema,
  feedLines,
  type FeedQuery,
  feedQuery,
  type FeedStreamQuery,
  feedStreamQuery,
  feedView,
} from './feed.schema.ts';
import { FeedService } from './feed.service.ts';

/** The stored events of an application, as its webhooks want them. */
@ApiTags('webhooks')
@ApiParam({ name: 'client_id' })
@ApplicationSecretAuth()
@Controller('a/:client_id/events')
export class FeedController {
  constructor(
    private readonly feed: FeedService,
    private readonly waits: FeedWaits,
  ) {}

  @Get()
  @ApiErrors(404, 409, 410)
  @Endpoint({
    summary: 'Read the events of a webhook, oldest first',
    description:
      'The same events, ids and numbers as in deliveries to the webhook. Continue from `cursor_end`. ' +
      'With `timeout` the request waits until there is an event; at most 20 such requests of one application at the same time.',
    response: feedView,
  })
  async read(
    @CurrentApplication() application: ApplicationPrincipal,
    @PresentedToken() secret: string,
    @Query({ schema: feedQuery }) { webhook_id: webhookId, timeout, cursor, limit }: FeedQuery,
    @Res({ passthrough: true }) response: Response,
  ) {
    const request = { webhookId, cursor, limit };
    if (timeout === 0) return toFeedView(await this.feed.read(application.applicationId, request));
    keepSmall(response);
    sendAscii(response);
    const reader = { application, secret, timeoutMs: timeout * 1000 };
    return toFeedView(
      await this.waits.longPoll(reader, request, (gone) => response.once('close', gone)),
    );
  }

  @Get('streaming')
  @ApiErrors(404, 409, 410)
  @ApiProduces(DELTA_LINES)
  @Endpoint({
    summary: 'Events of a webhook as they occur, one line of JSON each',
    description:
      'An empty line is sent every second. The stream ends after `timeout` or when the server stops: ' +
      'continue from the `cursor` of the last event. At most 20 concurrent streams of one application.',
    response: feedLines,
  })
  async stream(
    @CurrentApplication() application: ApplicationPrincipal,
    @PresentedToken() secret: string,
    @Query({ schema: feedStreamQuery }) { webhook_id: webhookId, timeout, cursor }: FeedStreamQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const timeoutMs = request.method === 'HEAD' ? 0 : timeout * 1000;
    const reader = { application, secret, timeoutMs };
    await sendDeltaLines(response, (onGone, open) =>
      this.waits.stream(reader, { webhookId, cursor }, onGone, open),
    );
  }

  @Post('ack')
  @ApiErrors(404, 410)
  @Endpoint({
    summary: 'Acknowledge the events of a webhook up to a cursor',
    description:
      'Later reads without `cursor` begin after it. The position never goes back unless `rewind` is true.',
    response: acknowledgedView,
  })
  async acknowledge(
    @ApplicationId() applicationId: string,
    @Body({ schema: acknowledgeSchema }) { webhook_id: webhookId, cursor, rewind }: Acknowledge,
  ) {
    const acknowledged = await this.feed.acknowledge(applicationId, { webhookId, cursor, rewind });
    return { webhook_id: webhookId, ...acknowledged };
  }
}
