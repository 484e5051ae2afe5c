import { Body, Controller, Delete, Get, HttpStatus, Param, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { Access, AccountAuth, CurrentAccount } from '../auth/access.decorators.ts';
import type { AccountPrincipal } from '../auth/principal.ts';
import { SCOPES_FOR } from '../auth/scopes.ts';
import { toListView } from '../database/listing.ts';
import { Endpoint } from '../http/endpoint.decorator.ts';
import { ApiErrors } from '../http/error.schema.ts';
import { toOutboxView } from './outbox.mapper.ts';
import {
  type CreateOutboxMessage,
  createOutboxMessage,
  listOutboxQuery,
  outboxMessage,
  outboxMessages,
  updateOutboxMessage,
} from './outbox.schema.ts';
import { OutboxService } from './outbox.service.ts';

const EDIT_RULE =
  'Applies in full while no attempt to send has begun, also within the last five minutes; afterwards 409 and nothing is changed.';

@ApiTags('outbox')
@AccountAuth({ anyScope: SCOPES_FOR.sendMail })
@Controller('v2/outbox')
export class OutboxController {
  constructor(private readonly outbox: OutboxService) {}

  @Get()
  @Endpoint({ summary: 'List the messages that are still to be sent', response: outboxMessages })
  async list(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: listOutboxQuery }) query: z.infer<typeof listOutboxQuery>,
  ) {
    return toListView(await this.outbox.list(account, query), toOutboxView);
  }

  @Get(':job_status_id')
  @ApiErrors(404)
  @Endpoint({ summary: 'Read a message of the outbox, whatever became of it', response: outboxMessage })
  async get(@CurrentAccount() account: AccountPrincipal, @Param('job_status_id') id: string) {
    return toOutboxView(await this.outbox.get(account, id));
  }

  @Post()
  @Access({ anyScope: SCOPES_FOR.sendMail, write: true })
  @Endpoint({
    summary: 'Send a message now or later',
    description:
      'Accepted messages are kept until they are sent, cancelled, or their retry limit is reached.',
    response: outboxMessage,
    status: HttpStatus.ACCEPTED,
  })
  async create(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: createOutboxMessage }) body: CreateOutboxMessage,
  ) {
    return toOutboxView(await this.outbox.create(account, body));
  }

  @Patch(':job_status_id')
  @Access({ anyScope: SCOPES_FOR.sendMail, write: true })
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'Change a message before it is sent',
    description: EDIT_RULE,
    response: outboxMessage,
  })
  async update(
    @CurrentAccount() account: AccountPrincipal,
    @Param('job_status_id') id: string,
    @Body({ schema: updateOutboxMessage }) body: CreateOutboxMessage,
  ) {
    return toOutboxView(await this.outbox.update(account, id, body));
  }

  @Put(':job_status_id')
  @Access({ anyScope: SCOPES_FOR.sendMail, write: true })
  @ApiErrors(404, 409)
  @Endpoint({ summary: 'The same as PATCH', description: EDIT_RULE, response: outboxMessage })
  async replace(
    @CurrentAccount() account: AccountPrincipal,
    @Param('job_status_id') id: string,
    @Body({ schema: updateOutboxMessage }) body: CreateOutboxMessage,
  ) {
    return toOutboxView(await this.outbox.update(account, id, body));
  }

  @Delete(':job_status_id')
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'Cancel a message before it is sent',
    description: EDIT_RULE,
    response: outboxMessage,
  })
  async cancel(@CurrentAccount() account: AccountPrincipal, @Param('job_status_id') id: string) {
    return toOutboxView(await this.outbox.cancel(account, id));
  }
}
