import { Body, Get, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { Actor } from '../../platform/audit/actor.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { LOG_LEVELS } from '../../platform/base/log-level.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { CurrentActor, OperatorAccess } from '../access/operator-access.decorators.ts';
import {
  DEFAULT_SECONDS,
  LogLevelService,
  LONGEST_SECONDS,
} from '../log-level/log-level.service.ts';
import { ConsolePages } from './console-page.decorator.ts';
import { sendPage, viewerOf } from './console-response.ts';
import { noticeIn, noticePath } from './notices.ts';
import { LOG_LEVEL_PATH, logLevelPage } from './pages/log-level.page.ts';
import { choiceIn, type Fields, textIn } from './queries.ts';

/** The level of the logs of all processes, and its change. */
@ConsolePages('log-level')
export class ConsoleLogLevelController {
  constructor(
    private readonly levels: LogLevelService,
    private readonly clock: Clock,
  ) {}

  @Get()
  async show(@Query() query: Fields, @Res() response: Response): Promise<void> {
    const view = { now: this.clock.now(), notice: noticeIn(query) };
    const current = await this.levels.read();
    sendPage(response, logLevelPage(viewerOf(response.req), current, LOG_LEVELS, view));
  }

  @Post()
  @OperatorAccess('operate')
  async change(
    @CurrentActor() actor: Actor,
    @Body() body: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const level = choiceIn(body, 'level', LOG_LEVELS);
    if (!level) throw new InvalidInputError(`level: choose one of ${LOG_LEVELS.join(', ')}`);
    const seconds = Number(textIn(body, 'for_seconds') ?? DEFAULT_SECONDS);
    if (!Number.isInteger(seconds) || seconds < 1 || seconds > LONGEST_SECONDS)
      throw new InvalidInputError(`for_seconds: enter a number from 1 to ${LONGEST_SECONDS}`);
    await this.levels.set(actor, level, seconds);
    response.redirect(303, noticePath(LOG_LEVEL_PATH, 'level-changed'));
  }

  @Post('reset')
  @OperatorAccess('operate')
  async reset(@CurrentActor() actor: Actor, @Res() response: Response): Promise<void> {
    await this.levels.reset(actor);
    response.redirect(303, noticePath(LOG_LEVEL_PATH, 'level-changed'));
  }
}
