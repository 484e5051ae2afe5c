import {
  applyDecorators,
  Body,
  Controller,
  Get,
  Post,
  Query,
  Res,
  UseFilters,
} from '@nestjs/common';
import { ApiOperation, ApiQuery, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { doneView } from '../account-management/accounts.schema.ts';
import { AccountAuth, Public } from '../../platform/auth/access.decorators.ts';
import { PresentedToken } from '../../platform/auth/presented-token.ts';
import { AccessTokens } from '../grants/access-tokens.service.ts';
import { ClientAddress } from '../../platform/http/client-address.decorator.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/error.schema.ts';
import { toTokenView } from './connect.mapper.ts';
import { ConnectService } from './connect.service.ts';
import { toAuthorizeRequest } from './hosted-sign-in.schema.ts';
import { OauthAuthorize } from './oauth-authorize.service.ts';
import { type OauthToken, oauthTokenSchema, type TokenView, tokenView } from './connect.schema.ts';
import { sendStep } from './page-response.ts';
import { PageFilter } from './page.filter.ts';

const AUTHORIZE_PARAMETERS: readonly [name: string, required: boolean, description: string][] = [
  ['client_id', true, 'Of the application'],
  ['redirect_uri', true, 'Registered, to the letter'],
  ['response_type', false, '`code` (default), or `token`: behind `#`'],
  ['scopes', false, 'Comma separated; default: those of the integration, or all'],
  ['state', false, 'At most 255 characters; handed back'],
  ['login_hint', false, 'Address to begin with'],
  ['provider', false, 'gmail, office365, icloud, imap, … : no choice of provider is shown'],
  [
    'redirect_on_error',
    false,
    '`true`: failures go to `redirect_uri` too, with `error` and `error_description`',
  ],
  ['disable_provider_selection', false, '`true`: without `provider`, any mailbox by IMAP'],
  ['force_password', false, '`true`: by password also where the provider has a sign-in of its own'],
];

/** Documents them: they are read by hand, since what is wrong with them is told on a page. */
const AuthorizeParameters = (): MethodDecorator =>
  applyDecorators(
    ...AUTHORIZE_PARAMETERS.map(([name, required, description]) =>
      ApiQuery({ name, required, description, schema: { type: 'string' } }),
    ),
  );

/** Browsers begin here. */
@ApiTags('connect')
@Public()
@Controller('oauth')
export class OauthAuthorizeController {
  constructor(private readonly oauth: OauthAuthorize) {}

  @Get('authorize')
  @UseFilters(PageFilter)
  @ApiOperation({
    summary: 'Send a user here to connect an account',
    description:
      'After the sign-in the browser is sent to `redirect_uri` with `code` and `state`. An address that is not registered is never gone to: a page says so.',
  })
  @ApiResponse({ status: 302, description: 'To the sign-in' })
  @ApiResponse({ status: 400, description: 'A page that says what is wrong' })
  @AuthorizeParameters()
  async authorize(
    @Res() response: Response,
    @Query() query: Record<string, unknown>,
  ): Promise<void> {
    sendStep(response, { redirect: await this.oauth.begin(toAuthorizeRequest(query)) });
  }
}
/** Credentials are in the query or the body here; an Authorization header is ignored. */
@ApiTags('connect')
@Public()
@ApiErrors(400, 401, 403, 429)
@Controller('oauth/token')
export class OauthTokenController {
  constructor(private readonly connect: ConnectService) {}

  @Post()
  @Endpoint({
    summary: 'Exchange a code for an access token (form or JSON)',
    description:
      'A code is good once, for ten minutes. It may also be exchanged at /connect/token.',
    response: tokenView,
  })
  byBody(@Body({ schema: oauthTokenSchema }) body: OauthToken, @ClientAddress() client: string) {
    return this.#exchange(body, client);
  }

  @Get()
  @Endpoint({
    deprecated: true,
    summary: 'Exchange a code for an access token (query): use POST instead',
    description:
      'For clients that know nothing else. The client secret stands in the address, which proxies in front of this server may log; this server does not.',
    response: tokenView,
  })
  byQuery(@Query({ schema: oauthTokenSchema }) query: OauthToken, @ClientAddress() client: string) {
    return this.#exchange(query, client);
  }

  async #exchange(
    { client_id, client_secret, code }: OauthToken,
    client: string,
  ): Promise<TokenView> {
    return toTokenView(
      await this.connect.exchange(
        { clientId: client_id, clientSecret: client_secret, client },
        code,
      ),
    );
  }
}

@ApiTags('connect')
@AccountAuth({ revokes: true })
@Controller('oauth')
export class OauthController {
  constructor(private readonly tokens: AccessTokens) {}

  @Post('revoke')
  @Endpoint({
    summary: 'Revoke the access token of this request',
    description: 'Also of an account that has been cancelled.',
    response: doneView,
  })
  async revoke(@PresentedToken() token: string) {
    await this.tokens.revoke(token);
    return { success: 'true' };
  }
}
