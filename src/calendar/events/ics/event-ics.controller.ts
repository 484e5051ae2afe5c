import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AccountAuth, CurrentAccount } from '../../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../../platform/auth/scopes.ts';
import { Endpoint } from '../../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../../platform/http/error.schema.ts';
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
    summary: 'An event as an iCalendar file',
    description:
      'Of an event that is there (`event_id`), or of one that is described as for creating it. Nothing is stored or sent.',
    response: icsView,
  })
  async toIcs(@CurrentAccount() account: AccountPrincipal, @Body({ schema: eventToIcs }) body: EventToIcs) {
    return { ics: await this.files.toIcs(account, body) };
  }
}
