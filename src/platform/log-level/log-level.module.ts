import { Module } from '@nestjs/common';
import { LogLevels } from './log-levels.ts';

/** The level of the log while the process runs. */
@Module({ providers: [LogLevels] })
export class LogLevelsModule {}
