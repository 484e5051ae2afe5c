import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ApplicationAuth, ApplicationId } from '../../../platform/auth/access.decorators.ts';
import { successView } from '../../../platform/wire/wire.schema.ts';
import { Endpoint } from '../../../platform/http/endpoint.decorator.ts';
import { ApiBetaErrors } from '../../../platform/http/errors/error.schema.ts';
import {
  accessTokenListView,
  type CreateToken,
  createTokenSchema,
  type ListTokens,
  listTokensSchema,
  newAccessTokenEnvelope,
} from './grant-tokens.schema.ts';
import { toAccessTokenView } from '../grants.mapper.ts';
import { GrantTokensService } from './grant-tokens.service.ts';

@ApiTags('grants')
@ApplicationAuth()
@ApiBetaErrors(404)
@Controller('connect/grants/:id/tokens')
export class GrantTokensController {
  constructor(private readonly tokens: GrantTokensService) {}

  @Get()
  @Endpoint({
    summary: 'List the access tokens of an account, oldest first',
    description:
      'The list never contains the tokens themselves. Tokens that ended more than 30 days ago are deleted.',
    response: accessTokenListView,
  })
  async list(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Query({ schema: listTokensSchema }) page: ListTokens,
  ) {
    const tokens = await this.tokens.list(applicationId, id, page);
    return { data: tokens.map(toAccessTokenView), limit: page.limit, offset: page.offset };
  }

  @Post()
  @ApiBetaErrors(403, 409)
  @Endpoint({
    summary: 'Create another access token for an account',
    response: newAccessTokenEnvelope,
  })
  async create(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Body({ schema: createTokenSchema }) body: CreateToken,
  ) {
    const { made, accessToken } = await this.tokens.create(applicationId, id, {
      lifetimeSeconds: body.expires_in,
      scope: body.scope,
      revokesOthers: body.revoke_other_tokens === true,
    });
    return { success: true, data: { ...toAccessTokenView(made), access_token: accessToken } };
  }

  @Delete(':token_id')
  @Endpoint({
    summary: 'Revoke one access token',
    description: 'The token is refused from the next request on.',
    response: successView,
  })
  async revoke(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Param('token_id') tokenId: string,
  ) {
    await this.tokens.revoke(applicationId, id, tokenId);
    return { success: true };
  }
}
