import { Global, Module } from '@nestjs/common';
import { WorkThreads } from './work-threads.ts';

/** The threads of the process; global, because most features read what strangers wrote. */
@Global()
@Module({ providers: [WorkThreads], exports: [WorkThreads] })
export class WorkThreadsModule {}
