import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import type { AnyDispatcher } from '../common/work/dispatcher.ts';
import { OutboxModule } from '../outbox/outbox.module.ts';
import { SendDispatcher } from '../outbox/send-dispatcher.ts';
import { DISPATCHERS, Engine } from './engine.ts';
import { Notifier } from './notifier.ts';

/** The engine, its tick, and the table of queues: one dispatcher per queue. */
@Module({
  imports: [ScheduleModule.forRoot(), OutboxModule],
  providers: [
    {
      provide: DISPATCHERS,
      inject: [SendDispatcher],
      useFactory: (...dispatchers: AnyDispatcher[]) => dispatchers,
    },
    Engine,
    Notifier,
  ],
  exports: [Engine],
})
export class SchedulerModule {}
