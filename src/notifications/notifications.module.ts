import { Module } from '@nestjs/common';
import { ReminderPlanner } from './reminder-planner.ts';

/** Reminders of events: planning them with the event, sending them when they are due. */
@Module({ providers: [ReminderPlanner], exports: [ReminderPlanner] })
export class NotificationsModule {}
