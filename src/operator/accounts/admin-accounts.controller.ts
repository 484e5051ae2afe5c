import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../../platform/audit/actor.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { wireView } from '../../platform/wire/wire-view.ts';
import { CurrentActor, OperatorAccess } from '../access/operator-access.decorators.ts';
import {
  type HoldBody,
  holdSchema,
  type ListAccountsQuery,
  listAccountsQuery,
  operatorAccount,
  operatorAccounts,
  type SignInLinkBody,
  signInLinkSchema,
  signInLinkView,
} from './admin-accounts.schema.ts';
import { OperatorAccounts } from './operator-accounts.ts';
import { SignInLinksService } from './sign-in-links.service.ts';

@ApiTags('accounts')
@OperatorAccess('operate')
@Controller('admin/accounts')
export class AdminAccountsController {
  constructor(
    private readonly accounts: OperatorAccounts,
    private readonly links: SignInLinksService,
  ) {}

  @Get()
  @OperatorAccess('read')
  @Endpoint({
    summary: 'List accounts of all applications, those in trouble first',
    description: 'All filters must hold.',
    response: operatorAccounts,
  })
  async list(
    @Query({ schema: listAccountsQuery })
    { limit, page_token: pageToken, ...filter }: ListAccountsQuery,
  ) {
    return wireView(await this.accounts.list(filter, { limit, pageToken }));
  }

  @Get(':id')
  @ApiErrors(404)
  @OperatorAccess('read')
  @Endpoint({
    summary: 'Read an account, with everything that is wrong',
    response: operatorAccount,
  })
  async get(@Param('id') id: string) {
    return wireView(await this.accounts.get(id));
  }

  @Post(':id/pause')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Pause the sending of an account',
    description:
      'Messages wait until sending is resumed or their deadline has come, reminders by email wait too, and direct sends are refused with 403. Messages that are being handed over are still sent.',
    response: operatorAccount,
  })
  async pause(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Body({ schema: holdSchema }) { reason }: HoldBody,
  ) {
    return wireView(await this.accounts.pauseSending(actor, id, reason ?? null));
  }

  @Post(':id/resume')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Resume the sending of an account',
    description: 'What became due meanwhile is sent now. A pause of its application still lasts.',
    response: operatorAccount,
  })
  async resume(@CurrentActor() actor: Actor, @Param('id') id: string) {
    return wireView(await this.accounts.resumeSending(actor, id));
  }

  @Post(':id/sign-in-link')
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'Make a link with which the user of an account authenticates again',
    description:
      'The address is filled in, and the sign-in must result in this account. Afterwards the browser goes to the first redirect address of the application.',
    response: signInLinkView,
  })
  async signInLink(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Body({ schema: signInLinkSchema }) { expires_in: seconds }: SignInLinkBody,
  ) {
    return wireView(await this.links.create(actor, id, seconds));
  }
}
