import { Module } from '@nestjs/common';
import { NotificationsModule } from '../notifications/notifications.module.ts';
import { EventNotificationsController } from './event-notifications.controller.ts';
import { EventReminders } from './event-reminders.service.ts';

@Module({
  imports: [NotificationsModule],
  controllers: [EventNotificationsController],
  providers: [EventReminders],
})
export class EventsModule {}
