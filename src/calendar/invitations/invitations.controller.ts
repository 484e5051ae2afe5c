import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import type { Page } from '../../platform/database/listing.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { toInvitationView } from './invitations.mapper.ts';
import { invitationView, listInvitationsQuery } from './invitations.schema.ts';
import { InvitationsService } from './invitations.service.ts';

@ApiTags('events')
@AccountAuth({ anyScope: SCOPES_FOR.readCalendar })
@Controller('events')
export class InvitationsController {
  constructor(private readonly invitations: InvitationsService) {}

  @Get(':id/invitations')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Mails sent to the participants of an event, with their status; latest first',
    operationId: 'Events_listInvitations',
    response: z.array(invitationView),
  })
  async list(
    @CurrentAccount() { accountId }: AccountPrincipal,
    @Param('id') id: string,
    @Query({ schema: listInvitationsQuery }) page: Page,
  ) {
    return (await this.invitations.list(accountId, id, page)).map(toInvitationView);
  }
}
