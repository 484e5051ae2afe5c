import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ApplicationAuth, CurrentApplication } from '../../platform/auth/access.decorators.ts';
import type { ApplicationPrincipal } from '../../platform/auth/principal.ts';
import { type SuccessView, successView } from '../../platform/wire/wire.schema.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiBetaErrors } from '../../platform/http/error.schema.ts';
import {
  type AccessTokenListView,
  accessTokenListView,
  type CreateToken,
  createTokenSchema,
  type ListTokens,
  listTokensSchema,
  type NewAccessTokenEnvelope,
  newAccessTokenEnvelope,
} from './grant-tokens.schema.ts';
import { GrantTokens } from './grant-tokens.service.ts';

@ApiTags('grants')
@ApplicationAuth()
@ApiBetaErrors(404)
@Controller('connect/grants/:id/tokens')
export class GrantTokensController {
  constructor(private readonly tokens: GrantTokens) {}

  @Get()
  @Endpoint({
    summary: 'List the access tokens of an account, oldest first',
    description: 'Never with the tokens themselves. Tokens that ended more than 30 days ago are gone.',
    response: accessTokenListView,
  })
  list(
    @CurrentApplication() { applicationId }: ApplicationPrincipal,
    @Param('id') id: string,
    @Query({ schema: listTokensSchema }) page: ListTokens,
  ): Promise<AccessTokenListView> {
    return this.tokens.list(applicationId, id, page);
  }

  @Post()
  @ApiBetaErrors(403)
  @Endpoint({ summary: 'Make another access token for an account', response: newAccessTokenEnvelope })
  create(
    @CurrentApplication() { applicationId }: ApplicationPrincipal,
    @Param('id') id: string,
    @Body({ schema: createTokenSchema }) body: CreateToken,
  ): Promise<NewAccessTokenEnvelope> {
    return this.tokens.create(applicationId, id, body);
  }

  @Delete(':token_id')
  @Endpoint({
    summary: 'Revoke one access token',
    description: 'It is refused from the next request on.',
    response: successView,
  })
  async revoke(
    @CurrentApplication() { applicationId }: ApplicationPrincipal,
    @Param('id') id: string,
    @Param('token_id') tokenId: string,
  ): Promise<SuccessView> {
    await this.tokens.revoke(applicationId, id, tokenId);
    return { success: true };
  }
}
