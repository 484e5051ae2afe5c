import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { AccountAuth, CurrentAccount } from '../auth/access.decorators.ts';
import type { AccountPrincipal } from '../auth/principal.ts';
import { SCOPES_FOR } from '../auth/scopes.ts';
import { Endpoint } from '../http/endpoint.decorator.ts';
import { ApiErrors } from '../http/error.schema.ts';
import { toReminderView } from '../notifications/reminder.mapper.ts';
import { listRemindersQuery, reminders } from '../notifications/reminder.schema.ts';
import { EventReminders } from './event-reminders.service.ts';

@ApiTags('events')
@AccountAuth({ anyScope: SCOPES_FOR.readCalendar })
@Controller('events/:event_id/notifications')
export class EventNotificationsController {
  constructor(private readonly eventReminders: EventReminders) {}

  @Get()
  @ApiErrors(404)
  @Endpoint({
    summary: 'See what became of the notifications of an event',
    description:
      'One entry per recipient and time, by due time: also those of times the event had earlier, and of cancelled events.',
    response: reminders,
  })
  async list(
    @CurrentAccount() account: AccountPrincipal,
    @Param('event_id') eventId: string,
    @Query({ schema: listRemindersQuery }) query: z.infer<typeof listRemindersQuery>,
  ) {
    return (await this.eventReminders.list(account.accountId, eventId, query)).map(toReminderView);
  }
}
