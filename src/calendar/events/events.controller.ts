import { Body, Controller, Delete, Get, Param, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { Access, AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { jobReference } from '../../platform/wire/wire.schema.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { camelKeys } from '../../platform/wire/camel-keys.ts';
import { EventReader } from './event-reader.ts';
import { EventViews } from './event-views.ts';
import { toEventQuery } from './events.mapper.ts';
import {
  createEvent,
  type CreateEvent,
  eventList,
  eventView,
  listEventsQuery,
  readEventQuery,
  type ListEventsQuery,
  updateEvent,
  type UpdateEvent,
  writeEventQuery,
  type WriteEventQuery,
} from './events.schema.ts';
import { EventsService } from './events.service.ts';

const WRITE = { anyScope: SCOPES_FOR.writeCalendar, write: true } as const;
const UPDATE_RULES =
  'Fields that are absent or null stay as they are; so do `recurrence`, `conferencing` and `reminders` if they are empty objects. A request that changes nothing has no effect, and its job is `successful` at once. `notifications: []` removes all notifications. The response shows for each notification whether it will be sent. `read_only` tells readers that the event is not theirs to change; the account itself can still change it. A single instance of a recurring event is changed by its id, `<id of the series>_<original start>`. From then on it is an event with its own id, and both ids find it. When the times of a series change, a changed instance is cancelled if its original start is no longer a time of the series.';

@ApiTags('events')
@AccountAuth({ anyScope: SCOPES_FOR.readCalendar })
@Controller('events')
export class EventsController {
  constructor(
    private readonly events: EventsService,
    private readonly reader: EventReader,
    private readonly views: EventViews,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List events by start',
    description:
      'Filters combine with AND; comparisons of times are strict. Cancelled events are listed only with `show_cancelled`. Exception: cancelled single instances of recurring events are always listed, unless `expand_recurring` is set.',
    response: eventList,
  })
  async list(
    @CurrentAccount() { accountId }: AccountPrincipal,
    @Query({ schema: listEventsQuery }) query: ListEventsQuery,
  ) {
    const found = await this.reader.list(accountId, toEventQuery(query));
    return this.views.ofList(accountId, found, query.view === 'expanded');
  }

  @Get(':id')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Read an event',
    description: 'A cancelled event is readable, too; its `status` is `cancelled`.',
    response: eventView,
  })
  async get(
    @CurrentAccount() { accountId }: AccountPrincipal,
    @Param('id') id: string,
    @Query({ schema: readEventQuery }) { view }: z.infer<typeof readEventQuery>,
  ) {
    return this.views.of(await this.reader.get(accountId, id), view === 'expanded');
  }

  @Post()
  @Access(WRITE)
  @Endpoint({
    summary: 'Create an event',
    description:
      'The event is visible at once; a job creates it at the provider. Notifications of a recurring event are about its first occurrence. Notifications need the scope `email.send` or `email`. The response shows for each notification whether it will be sent.',
    response: eventView,
  })
  async create(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: createEvent }) body: CreateEvent,
    @Query({ schema: writeEventQuery }) query: WriteEventQuery,
  ) {
    return this.views.ofWritten(
      await this.events.create(account, camelKeys(body), camelKeys(query)),
    );
  }

  @Put(':id')
  @Access(WRITE)
  @ApiErrors(404, 409)
  @Endpoint({ summary: 'Change an event', description: UPDATE_RULES, response: eventView })
  async update(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateEvent }) body: UpdateEvent,
    @Query({ schema: writeEventQuery }) query: WriteEventQuery,
  ) {
    return this.views.ofWritten(
      await this.events.update(account, id, camelKeys(body), camelKeys(query)),
    );
  }

  @Patch(':id')
  @Access(WRITE)
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'The same as PUT',
    aliasOf: 'Events_update',
    description: UPDATE_RULES,
    response: eventView,
  })
  patch(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateEvent }) body: UpdateEvent,
    @Query({ schema: writeEventQuery }) query: WriteEventQuery,
  ) {
    return this.update(account, id, body, query);
  }

  @Post(':id')
  @Access(WRITE)
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'The same as PUT',
    aliasOf: 'Events_update',
    description: UPDATE_RULES,
    response: eventView,
  })
  post(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateEvent }) body: UpdateEvent,
    @Query({ schema: writeEventQuery }) query: WriteEventQuery,
  ) {
    return this.update(account, id, body, query);
  }

  @Delete(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({
    summary: 'Cancel an event',
    description:
      'The event stays readable with the status `cancelled`; a job deletes it at the provider. Deleting it again only repeats that job. Deleting a recurring event deletes all its instances. `<id of the series>_<original start>` deletes a single instance.',
    response: jobReference,
  })
  async delete(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Query({ schema: writeEventQuery }) query: WriteEventQuery,
  ) {
    return { job_status_id: await this.events.delete(account, id, camelKeys(query)) };
  }
}
