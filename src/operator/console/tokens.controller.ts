import { Body, Get, Param, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { GrantTokensService } from '../../accounts/grants/tokens/grant-tokens.service.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { OperatorAccess } from '../access/operator-access.decorators.ts';
import { OperatorAccounts } from '../accounts/operator-accounts.ts';
import { ConsolePages } from './console-page.decorator.ts';
import { sendPage, viewerOf } from './console-response.ts';
import { exactly } from './kit/time.ts';
import { noticePath } from './notices.ts';
import { accountCrumbs, accountPath } from './pages/account.page.ts';
import { actionPage, secretPage, TOKEN_LIFETIMES, tokenFields } from './pages/action.page.ts';
import { choiceIn, type Fields } from './queries.ts';

const NO_TOKEN =
  'The application that has it gets 401 from the next request on. This cannot be undone, but you can make another token.';

/** Access tokens of an account. The modules of tokens record what is done. */
@ConsolePages('accounts/:id/tokens')
export class ConsoleTokensController {
  constructor(
    private readonly accounts: OperatorAccounts,
    private readonly tokens: GrantTokensService,
    private readonly clock: Clock,
  ) {}

  @Get('new')
  @OperatorAccess('operate')
  async ask(@Param('id') id: string, @Res() response: Response): Promise<void> {
    const account = await this.accounts.get(id);
    const page = actionPage(viewerOf(response.req), {
      section: 'accounts',
      title: `Make an access token for ${account.email}?`,
      consequences:
        'The token gives access to the account with all scopes that it has. Give it to the application of the account only. It is shown once.',
      crumbs: accountCrumbs(account),
      path: `${accountPath(id)}/tokens`,
      fields: tokenFields(),
      button: 'Make the token',
      back: accountPath(id),
    });
    sendPage(response, page);
  }

  /** The page has the token, so there is no redirect: the token is shown once. */
  @Post()
  @OperatorAccess('operate')
  async make(
    @Param('id') id: string,
    @Body() body: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const account = await this.accounts.get(id);
    const lifetime = choiceIn(body, 'lifetime', Object.keys(TOKEN_LIFETIMES));
    const { made, accessToken } = await this.tokens.create(account.applicationId, id, {
      lifetimeSeconds: lifetime ? Number(lifetime) : null,
      revokesOthers: body['revoke_others'] === 'true',
    });
    const now = this.clock.now();
    const page = secretPage({
      section: 'accounts',
      title: 'Access token',
      text: `An access token for ${account.email}. The application sends it as Bearer.`,
      what: 'access token',
      value: accessToken,
      crumbs: accountCrumbs(account),
      more: [
        ['Id', made.id],
        ['Works until', made.expiresAt ? exactly(made.expiresAt, now) : 'it is revoked'],
      ],
    });
    sendPage(response, page);
  }

  @Get(':tokenId/revoke')
  @OperatorAccess('operate')
  async askRevoke(
    @Param('id') id: string,
    @Param('tokenId') tokenId: string,
    @Res() response: Response,
  ): Promise<void> {
    const account = await this.accounts.get(id);
    const page = actionPage(viewerOf(response.req), {
      section: 'accounts',
      title: 'Revoke this access token?',
      consequences: NO_TOKEN,
      crumbs: accountCrumbs(account),
      path: `${accountPath(id)}/tokens/${encodeURIComponent(tokenId)}/revoke`,
      button: 'Revoke the token',
      danger: true,
      back: accountPath(id),
    });
    sendPage(response, page);
  }

  @Post(':tokenId/revoke')
  @OperatorAccess('operate')
  async revoke(
    @Param('id') id: string,
    @Param('tokenId') tokenId: string,
    @Res() response: Response,
  ): Promise<void> {
    const { applicationId } = await this.accounts.get(id);
    await this.tokens.revoke(applicationId, id, tokenId);
    response.redirect(303, noticePath(accountPath(id), 'token-revoked'));
  }
}
