import { Body, Controller, Delete, Get, Param, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { Access, AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { jobReference } from '../../platform/wire/wire.schema.ts';
import { metadataFilter } from '../../platform/database/metadata-filter.ts';
import { toListView } from '../../platform/database/listing.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { toCalendarView } from './calendars.mapper.ts';
import {
  calendarList,
  calendarView,
  createCalendar,
  type CreateCalendar,
  listCalendarsQuery,
  updateCalendar,
  type UpdateCalendar,
} from './calendars.schema.ts';
import { CalendarsService } from './calendars.service.ts';

const WRITE = { anyScope: SCOPES_FOR.writeCalendar, write: true } as const;

@ApiTags('calendars')
@AccountAuth({ anyScope: SCOPES_FOR.readCalendar })
@Controller('calendars')
export class CalendarsController {
  constructor(private readonly calendars: CalendarsService) {}

  @Get()
  @Endpoint({ summary: 'List calendars, oldest first', response: calendarList })
  async list(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: listCalendarsQuery }) query: z.infer<typeof listCalendarsQuery>,
  ) {
    const wanted = { ...query, metadata: metadataFilter(query) };
    return toListView(await this.calendars.list(account, wanted), (calendar) =>
      toCalendarView(calendar),
    );
  }

  @Get(':id')
  @ApiErrors(404)
  @Endpoint({ summary: 'Read a calendar', response: calendarView })
  async get(@CurrentAccount() account: AccountPrincipal, @Param('id') id: string) {
    return toCalendarView(await this.calendars.get(account, id));
  }

  @Post()
  @Access(WRITE)
  @Endpoint({
    summary: 'Create a calendar',
    description: 'The calendar is visible at once; a job creates it at the provider.',
    response: calendarView,
  })
  async create(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: createCalendar }) body: CreateCalendar,
  ) {
    const { calendar, jobId } = await this.calendars.create(account, body);
    return toCalendarView(calendar, jobId);
  }

  @Put(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({
    summary: 'Change a calendar',
    description:
      'Fields that are absent stay as they are; metadata is replaced as a whole. A request that changes nothing has no effect, and its job is `successful` at once.',
    response: calendarView,
  })
  async update(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateCalendar }) body: UpdateCalendar,
  ) {
    const { calendar, jobId } = await this.calendars.update(account, id, body);
    return toCalendarView(calendar, jobId);
  }

  @Patch(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({ summary: 'The same as PUT', aliasOf: 'Calendars_update', response: calendarView })
  patch(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateCalendar }) body: UpdateCalendar,
  ) {
    return this.update(account, id, body);
  }

  @Delete(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({ summary: 'Delete a calendar and the events in it', response: jobReference })
  async delete(@CurrentAccount() account: AccountPrincipal, @Param('id') id: string) {
    return { job_status_id: await this.calendars.delete(account, id) };
  }
}
