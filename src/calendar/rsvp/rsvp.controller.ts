import { Body, Controller, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { camelKeys } from '../../platform/wire/camel-keys.ts';
import { EventViews } from '../events/event-views.ts';
import { eventView } from '../events/events.schema.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { sendRsvp, type SendRsvp, sendRsvpQuery } from './rsvp.schema.ts';
import { RsvpService } from './rsvp.service.ts';

@ApiTags('events')
@AccountAuth({ anyScope: SCOPES_FOR.writeCalendar, write: true })
@Controller('send-rsvp')
export class RsvpController {
  constructor(
    private readonly rsvp: RsvpService,
    private readonly views: EventViews,
  ) {}

  @Post()
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'Answer an invitation',
    description:
      'The event shows the answer at once. A mail notifies the organizer, and `job_status_id` is the job of that mail. An answer that changes nothing is not sent again, unless the last mail has failed.',
    response: eventView,
  })
  async send(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: sendRsvp }) body: SendRsvp,
    @Query({ schema: sendRsvpQuery }) query: z.infer<typeof sendRsvpQuery>,
  ) {
    const { account_id, ...answer } = body;
    if (account_id && account_id !== account.accountId)
      throw new InvalidInputError('account_id: is not the account of the access token');
    return this.views.ofWritten(
      await this.rsvp.answer(account, camelKeys(answer), camelKeys(query)),
    );
  }
}
