import { Body, Controller, Delete, Get, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { successView } from '../../platform/wire/wire.schema.ts';
import {
  accessTokenView,
  type CreateToken,
  createTokenSchema,
} from '../../accounts/grants/tokens/grant-tokens.schema.ts';
import { toAccessTokenView } from '../../accounts/grants/grants.mapper.ts';
import { OperatorAccess } from '../access/operator-access.decorators.ts';
import { AccountTokensService } from './account-tokens.service.ts';

const tokensView = z
  .object({
    items: z.array(accessTokenView).describe('The tokens, oldest first'),
    next_page_token: z.null().describe('Always null: an account has few tokens'),
  })
  .meta({ id: 'AccountTokens' });

const newTokenView = accessTokenView
  .extend({ access_token: z.string().describe('Shown only in this response') })
  .meta({ id: 'NewAccountToken' });

@ApiTags('accounts')
@ApiErrors(404)
@OperatorAccess('operate')
@Controller('admin/accounts/:id/tokens')
export class AdminAccountTokensController {
  constructor(private readonly tokens: AccountTokensService) {}

  @Get()
  @OperatorAccess('read')
  @Endpoint({
    summary: 'List the access tokens of an account, without the tokens themselves',
    response: tokensView,
  })
  async list(@Param('id') id: string) {
    return { items: (await this.tokens.list(id)).map(toAccessTokenView), next_page_token: null };
  }

  @Post()
  @Endpoint({
    summary: 'Create an access token for an account',
    description: 'The token is shown only in this response.',
    response: newTokenView,
  })
  async create(@Param('id') id: string, @Body({ schema: createTokenSchema }) body: CreateToken) {
    const { made, accessToken } = await this.tokens.create(id, {
      lifetimeSeconds: body.expires_in,
      scope: body.scope,
      revokesOthers: body.revoke_other_tokens ?? false,
    });
    return { ...toAccessTokenView(made), access_token: accessToken };
  }

  @Delete()
  @Endpoint({ summary: 'Revoke all access tokens of an account', response: successView })
  async revokeAll(@Param('id') id: string) {
    await this.tokens.revokeAll(id);
    return { success: true };
  }

  @Delete(':token_id')
  @Endpoint({ summary: 'Revoke an access token', response: successView })
  async revoke(@Param('id') id: string, @Param('token_id') tokenId: string) {
    await this.tokens.revoke(id, tokenId);
    return { success: true };
  }
}
