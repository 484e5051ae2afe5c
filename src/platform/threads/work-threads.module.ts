import { Global, Module } from '@nestjs/common';
import { WorkThreads } from './work-threads.ts';

/** The threads of the process. Global, because most features read untrusted input. */
@Global()
@Module({ providers: [WorkThreads], exports: [WorkThreads] })
export class WorkThreadsModule {}
