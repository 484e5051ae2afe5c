import { Body, Controller, Delete, Get, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../../platform/audit/actor.ts';
import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import type { LevelForAll } from '../../platform/log-level/level-for-all.ts';
import { CurrentActor, OperatorAccess } from '../access/operator-access.decorators.ts';
import {
  type LogLevelBody,
  logLevelBody,
  type LogLevelView,
  logLevelView,
} from './admin-log-level.schema.ts';
import { LogLevelService } from './log-level.service.ts';

const toView = (forAll: LevelForAll | null): LogLevelView => ({
  level: forAll?.level ?? null,
  until: forAll && toUnixSeconds(forAll.until),
});

@ApiTags('log level')
@OperatorAccess('read')
@Controller('admin/log-level')
export class AdminLogLevelController {
  constructor(private readonly levels: LogLevelService) {}

  @Get()
  @Endpoint({ summary: 'Read the level of the logs of all processes', response: logLevelView })
  async read(): Promise<LogLevelView> {
    return toView(await this.levels.read());
  }

  @Put()
  @OperatorAccess('operate')
  @Endpoint({
    summary: 'Change the level of the logs of all processes for a while',
    description: 'Every process follows within five seconds. The time is limited to a day.',
    response: logLevelView,
  })
  async set(
    @CurrentActor() actor: Actor,
    @Body({ schema: logLevelBody }) { level, for_seconds: seconds }: LogLevelBody,
  ): Promise<LogLevelView> {
    return toView(await this.levels.set(actor, level, seconds));
  }

  @Delete()
  @OperatorAccess('operate')
  @Endpoint({ summary: 'Give each process its own level again', response: logLevelView })
  async reset(@CurrentActor() actor: Actor): Promise<LogLevelView> {
    await this.levels.reset(actor);
    return toView(null);
  }
}
