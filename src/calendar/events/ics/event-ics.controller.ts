import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AccountAuth, CurrentAccount } from '../../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../../platform/auth/scopes.ts';
import { Endpoint } from '../../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../../platform/http/errors/error.schema.ts';
import { camelKeys } from '../../../platform/wire/camel-keys.ts';
import type { NewEvent } from '../writes/apply-input.ts';
import { eventToIcs, type EventToIcs, icsView } from './event-ics.schema.ts';
import { EventIcsService } from './event-ics.service.ts';

@ApiTags('events')
@AccountAuth({ anyScope: SCOPES_FOR.readCalendar })
@Controller('events')
export class EventIcsController {
  constructor(private readonly files: EventIcsService) {}

  @Post('to-ics')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Export an event as an iCalendar file',
    description:
      'Exports a stored event (`event_id`), or an event described by the same fields as for creating one. Nothing is stored or sent.',
    response: icsView,
  })
  async toIcs(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: eventToIcs }) body: EventToIcs,
  ) {
    const { event_id, ics_options, ...fields } = body;
    const options = { ...ics_options, uid: ics_options?.ical_uid };
    // The schema requires `calendar_id` and `when` if `event_id` is absent.
    const ics =
      event_id === undefined
        ? await this.files.ofFields(account, camelKeys(fields) as NewEvent, options)
        : await this.files.ofStored(account, event_id, options);
    return { ics };
  }
}
