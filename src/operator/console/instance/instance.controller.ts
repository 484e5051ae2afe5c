import { Body, Get, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { Actor } from '../../../platform/audit/actor.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { CurrentActor, OperatorAccess } from '../../access/operator-access.decorators.ts';
import { CANCEL_CHOICES, OperatorInstance } from '../../instance/operator-instance.ts';
import { ConsolePages } from '../console-page.decorator.ts';
import { sendPage, viewerOf } from '../console-response.ts';
import { noticeIn, noticePath } from '../notices.ts';
import { type Fields, strictChoiceIn } from '../queries.ts';
import { confirmInstancePage, INSTANCE_PATH, instancePage } from './instance.page.ts';

/** Which installation the database belongs to, and its confirmation after a restore. */
@ConsolePages('instance')
export class ConsoleInstanceController {
  constructor(
    private readonly instance: OperatorInstance,
    private readonly clock: Clock,
  ) {}

  @Get()
  async show(@Query() query: Fields, @Res() response: Response): Promise<void> {
    const known = await this.instance.recorded();
    const refusal = await this.instance.refusal();
    const view = { now: this.clock.now(), notice: noticeIn(query) };
    sendPage(response, instancePage(viewerOf(response.req), known, refusal, view));
  }

  @Get('confirm')
  @OperatorAccess('operate')
  async ask(@Res() response: Response): Promise<void> {
    const refusal = await this.instance.refusal();
    if (refusal === null) return response.redirect(303, INSTANCE_PATH);
    sendPage(response, confirmInstancePage(viewerOf(response.req), refusal));
  }

  @Post('confirm')
  @OperatorAccess('operate')
  async confirm(
    @CurrentActor() actor: Actor,
    @Body() body: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const { shown } = body;
    await this.instance.confirm(actor, typeof shown === 'string' ? shown : '', {
      cancelSends: strictChoiceIn(body, 'cancel_sends', CANCEL_CHOICES),
      cancelReminders: strictChoiceIn(body, 'cancel_reminders', CANCEL_CHOICES),
      pauseWebhooks: strictChoiceIn(body, 'pause_webhooks', ['true', 'false']) === 'true',
    });
    response.redirect(303, noticePath(INSTANCE_PATH, 'instance-confirmed'));
  }
}
