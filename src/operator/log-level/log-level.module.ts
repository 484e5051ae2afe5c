import { Module } from '@nestjs/common';
import { AdminLogLevelController } from './admin-log-level.controller.ts';
import { LogLevelService } from './log-level.service.ts';

/** Operators change the level of the logs while the processes run. */
@Module({
  controllers: [AdminLogLevelController],
  providers: [LogLevelService],
  exports: [LogLevelService],
})
export class LogLevelModule {}
