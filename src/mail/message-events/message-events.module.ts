import { Module } from '@nestjs/common';
import { MessageEvents } from './message-events.ts';

/** Connects messages with the calendar, which knows the events that came with them. */
@Module({ providers: [MessageEvents], exports: [MessageEvents] })
export class MessageEventsModule {}
