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
import { z } from 'zod';
import { AccountAuth, Public } from '../../../platform/auth/access.decorators.ts';
import { PresentedToken } from '../../../platform/auth/presented-token.ts';
import { AccessTokensService } from '../../grants/tokens/access-tokens.service.ts';
import { ClientAddress } from '../../../platform/http/client-address.decorator.ts';
import { emptyView } from '../../../platform/wire/wire.schema.ts';
import { Endpoint } from '../../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../../platform/http/errors/error.schema.ts';
import { oauthRequest } from '../../../platform/wire/schema-fields.ts';
import { ConnectorRegistry } from '../../../providers/port/connector-registry.ts';
import { toTokenView } from '../connect.mapper.ts';
import { ConnectService } from '../connect.service.ts';
import { toAuthorizeRequest } from '../links/hosted-sign-in.schema.ts';
import { OauthAuthorizeService } from './oauth-authorize.service.ts';
import { type OauthToken, oauthTokenSchema, type TokenView, tokenView } from '../connect.schema.ts';
import { sendStep } from '../sign-in/page-response.ts';
import { PageFilter } from '../sign-in/page.filter.ts';

const AUTHORIZE_PARAMETERS: readonly [name: string, required: boolean, description: string][] = [
  ['client_id', true, 'Client id of the application'],
  ['redirect_uri', true, 'Must be identical to a registered address'],
  ['response_type', false, '`code` (default), or `token`: behind `#`'],
  ['scopes', false, 'Comma separated; default: the scopes of the integration, or all'],
  ['state', false, 'At most 255 characters; returned unchanged'],
  ['login_hint', false, 'Address to suggest to the user'],
  ['provider', false, 'gmail, office365, icloud, imap, … Skips the choice of a provider'],
  [
    'redirect_on_error',
    false,
    '`true`: failures are also redirected to `redirect_uri`, with `error` and `error_description`',
  ],
  [
    'disable_provider_selection',
    false,
    '`true`: without `provider`, the user connects any mailbox by IMAP',
  ],
  [
    'force_password',
    false,
    '`true`: sign-in with a password, even if the provider has its own sign-in',
  ],
];

/** Documents the parameters. The handler parses them itself, because errors are shown on a page. */
const AuthorizeParameters = (): MethodDecorator =>
  applyDecorators(
    ...AUTHORIZE_PARAMETERS.map(([name, required, description]) =>
      ApiQuery({ name, required, description, schema: { type: 'string' } }),
    ),
  );

// Without the name of the schema, because NestJS documents no parameters of a named one.
const OAUTH_QUERY = oauthRequest(z.object(oauthTokenSchema.shape));
const OAUTH_BODY = oauthRequest(oauthTokenSchema);

/** The endpoint that browsers open to start a sign-in. */
@ApiTags('connect')
@Public()
@Controller('oauth')
export class OauthAuthorizeController {
  constructor(private readonly oauth: OauthAuthorizeService) {}

  @Get('authorize')
  @UseFilters(PageFilter)
  @ApiOperation({
    summary: 'Send a user here to connect an account',
    description:
      'After the sign-in the browser is sent to `redirect_uri` with `code` and `state`. If the address is not registered, the browser stays on a page that says so.',
  })
  @ApiResponse({ status: 302, description: 'Redirect to the sign-in' })
  @ApiResponse({ status: 400, description: 'A page that explains the error' })
  @AuthorizeParameters()
  async authorize(
    @Res() response: Response,
    @Query() query: Record<string, unknown>,
  ): Promise<void> {
    sendStep(response, { redirect: await this.oauth.begin(toAuthorizeRequest(query)) });
  }
}
/** Credentials are in the query or the body. An Authorization header is ignored. */
@ApiTags('connect')
@Public()
@ApiErrors(400, 401, 403, 429)
@Controller('oauth/token')
export class OauthTokenController {
  constructor(
    private readonly connect: ConnectService,
    private readonly connectors: ConnectorRegistry,
  ) {}

  @Post()
  @Endpoint({
    summary: 'Exchange a code for an access token (form or JSON)',
    description:
      'A code can be exchanged once, within ten minutes. It may also be exchanged at /connect/token.',
    response: tokenView,
  })
  byBody(@Body({ schema: OAUTH_BODY }) body: OauthToken, @ClientAddress() client: string) {
    return this.#exchange(body, client);
  }

  @Get()
  @Endpoint({
    deprecated: true,
    aliasOf: 'OauthToken_byBody',
    summary: 'Exchange a code for an access token (query): use POST instead',
    description:
      'Only for clients that cannot use POST. The client secret is part of the URL, which proxies in front of this server may log. This server does not log it.',
    response: tokenView,
  })
  byQuery(@Query({ schema: OAUTH_QUERY }) query: OauthToken, @ClientAddress() client: string) {
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
      this.connectors,
    );
  }
}

@ApiTags('connect')
@AccountAuth({ revokes: true })
@Controller('oauth')
export class OauthController {
  constructor(private readonly tokens: AccessTokensService) {}

  @Post('revoke')
  @Endpoint({
    summary: 'Revoke the access token of this request',
    description: 'Also works for a cancelled account. The response has no content.',
    response: emptyView,
  })
  async revoke(@PresentedToken() token: string) {
    await this.tokens.revoke(token);
    return '';
  }
}
