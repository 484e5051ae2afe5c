import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import type { Page } from '../../platform/database/listing.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { toReminderView } from './reminder.mapper.ts';
import { reminderView, listRemindersQuery } from './reminder.schema.ts';
import { RemindersService } from './reminders.service.ts';

@ApiTags('events')
@AccountAuth({ anyScope: SCOPES_FOR.readCalendar })
@Controller('events')
export class NotificationsController {
  constructor(private readonly reminders: RemindersService) {}

  @Get(':id/notifications')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Reminders of an event and their status',
    operationId: 'Events_listReminders',
    response: z.array(reminderView),
  })
  async list(
    @CurrentAccount() { accountId }: AccountPrincipal,
    @Param('id') id: string,
    @Query({ schema: listRemindersQuery }) page: Page,
  ) {
    return (await this.reminders.list(accountId, id, page)).map(toReminderView);
  }
}
