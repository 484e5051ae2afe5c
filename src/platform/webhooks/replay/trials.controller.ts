import { Body, Controller, Param, Post } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import { ApplicationId, ApplicationSecretAuth } from '../../auth/access.decorators.ts';
import { Endpoint } from '../../http/endpoint.decorator.ts';
import { ApiErrors } from '../../http/errors/error.schema.ts';
import { toReplayRequest, toWebhookReplayView, toWebhookTestView } from './trials.mapper.ts';
import {
  type ReplayWebhook,
  replayWebhookSchema,
  type TestWebhook,
  testWebhookSchema,
  webhookReplayView,
  webhookTestView,
} from './trials.schema.ts';
import { WebhookTrials } from './webhook-trials.ts';

/** Events that an application asks to be sent again, or as a test. */
@ApiTags('webhooks')
@ApiParam({ name: 'client_id' })
@ApplicationSecretAuth()
@Controller('a/:client_id/webhooks')
export class TrialsController {
  constructor(private readonly trials: WebhookTrials) {}

  @Post(':id/replay')
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'Deliver stored events again: one, those of a span, or all that failed',
    description:
      'The receiver sees the same event ids. At most 100,000 events with one request. 409: the webhook must be active or failing, and no pull webhook.',
    response: webhookReplayView,
  })
  async replay(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Body({ schema: replayWebhookSchema }) body: ReplayWebhook,
  ) {
    return toWebhookReplayView(await this.trials.replay(applicationId, id, toReplayRequest(body)));
  }

  @Post(':id/test')
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'Send an example event of a trigger',
    description:
      'It is signed like any delivery, has `test: true`, and is sent once; the response has the result. The feed of a pull webhook gets it instead.',
    response: webhookTestView,
  })
  async test(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Body({ schema: testWebhookSchema }) { trigger }: TestWebhook,
  ) {
    return toWebhookTestView(await this.trials.test(applicationId, id, trigger));
  }
}
