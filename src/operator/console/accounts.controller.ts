import { Body, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { Actor } from '../../platform/audit/actor.ts';
import { GrantTokensService } from '../../accounts/grants/tokens/grant-tokens.service.ts';
import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { MOST_DAYS } from '../../sync/audit/audit-days.ts';
import { CompletenessService } from '../../sync/completeness/completeness.service.ts';
import { CurrentActor, OperatorAccess } from '../access/operator-access.decorators.ts';
import { type AccountDetail, ACCOUNT_HEALTHS } from '../accounts/account-health.ts';
import { OperatorAccounts } from '../accounts/operator-accounts.ts';
import { SignInLinksService } from '../accounts/sign-in-links.service.ts';
import { ConsolePages } from './console-page.decorator.ts';
import { sendPage, viewerOf } from './console-response.ts';
import { counted } from './kit/figures.ts';
import { exactly } from './kit/time.ts';
import { type NoticeCode, noticeIn, noticePath } from './notices.ts';
import { accountCrumbs, accountPage, accountPath } from './pages/account.page.ts';
import { ACCOUNT_FILTERS, accountsPage } from './pages/accounts.page.ts';
import { actionPage, type AskedAction, reasonField, secretPage } from './pages/action.page.ts';
import { choiceIn, type Fields, filterIn, positionIn, textIn } from './queries.ts';

/** An action on an account: its page, and what it does. */
interface AccountAction {
  ask: (
    account: AccountDetail,
  ) => Pick<AskedAction, 'title' | 'consequences' | 'button' | 'fields'>;
  run: (accounts: OperatorAccounts, actor: Actor, id: string, body: Fields) => Promise<unknown>;
  done: NoticeCode;
}

const ACTIONS: Readonly<Record<string, AccountAction>> = {
  pause: {
    ask: ({ email, messages }) => ({
      title: `Pause sending for ${email}?`,
      consequences: `Its ${counted(messages.open, 'open message')} and its reminders by email wait until you resume. Messages whose deadline passes meanwhile fail.`,
      button: 'Pause sending',
      fields: reasonField('The users of the account see it.'),
    }),
    run: (accounts, actor, id, body) =>
      accounts.pauseSending(actor, id, textIn(body, 'reason') ?? null),
    done: 'sending-paused',
  },
  resume: {
    ask: ({ email, messages }) => ({
      title: `Resume sending for ${email}?`,
      consequences: `${counted(messages.paused, 'waiting message')} will be sent, unless a deadline has passed. A pause of its application still lasts.`,
      button: 'Resume sending',
    }),
    run: (accounts, actor, id) => accounts.resumeSending(actor, id),
    done: 'sending-resumed',
  },
};

/** Tokens that the page of an account shows, the oldest first. */
const MOST_TOKENS = 200;

function actionOf(name: string): AccountAction {
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (!action) throw new NotFoundError('action', name);
  return action;
}

/** Accounts of all applications by health, and actions on them. */
@ConsolePages('accounts')
export class ConsoleAccountsController {
  constructor(
    private readonly accounts: OperatorAccounts,
    private readonly links: SignInLinksService,
    private readonly tokens: GrantTokensService,
    private readonly completeness: CompletenessService,
    private readonly clock: Clock,
  ) {}

  @Get()
  async list(@Query() query: Fields, @Res() response: Response): Promise<void> {
    const values = filterIn(query, ACCOUNT_FILTERS);
    const position = positionIn(query);
    const { address, application, provider, server } = values;
    const health = choiceIn(values, 'health', ACCOUNT_HEALTHS);
    const filter = { address, application, provider, server, health };
    const [list, total] = await Promise.all([
      this.accounts.list(filter, position),
      this.accounts.count(filter),
    ]);
    const view = { now: this.clock.now(), notice: noticeIn(query) };
    sendPage(response, accountsPage({ ...list, ...position, total }, values, view));
  }

  @Get(':id')
  async show(
    @Param('id') id: string,
    @Query() query: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const account = await this.accounts.get(id);
    const page = { limit: MOST_TOKENS, offset: 0 };
    const tokens = await this.tokens.list(account.applicationId, id, page);
    const proof = await this.completeness.of(account.applicationId, id, MOST_DAYS);
    const view = { now: this.clock.now(), notice: noticeIn(query), tokens, proof };
    sendPage(response, accountPage(viewerOf(response.req), account, view));
  }

  @Get(':id/sign-in-link')
  @OperatorAccess('operate')
  async askLink(@Param('id') id: string, @Res() response: Response): Promise<void> {
    const account = await this.accounts.get(id);
    const page = actionPage(viewerOf(response.req), {
      section: 'accounts',
      title: `Make a sign-in link for ${account.email}?`,
      consequences:
        'The link opens the sign-in pages for this account for 30 minutes. Send it to the user of the account only: with it, the user signs in again, and nothing else changes.',
      crumbs: accountCrumbs(account),
      path: `${accountPath(id)}/sign-in-link`,
      button: 'Make the link',
      back: accountPath(id),
    });
    sendPage(response, page);
  }

  /** The page has the link, so there is no redirect: the link is shown once. */
  @Post(':id/sign-in-link')
  @OperatorAccess('operate')
  async makeLink(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Res() response: Response,
  ): Promise<void> {
    const { email, url, expiresAt } = await this.links.create(actor, id);
    const page = secretPage({
      section: 'accounts',
      title: 'Sign-in link',
      text: `Send this link to the user of ${email}, and to nobody else.`,
      what: 'link',
      value: url,
      crumbs: accountCrumbs({ id, email }),
      more: [['Works until', exactly(expiresAt, this.clock.now())]],
    });
    sendPage(response, page);
  }

  @Get(':id/:action')
  @OperatorAccess('operate')
  async ask(
    @Param('id') id: string,
    @Param('action') name: string,
    @Res() response: Response,
  ): Promise<void> {
    const action = actionOf(name);
    const account = await this.accounts.get(id);
    const page = actionPage(viewerOf(response.req), {
      ...action.ask(account),
      section: 'accounts',
      crumbs: accountCrumbs(account),
      path: `${accountPath(id)}/${name}`,
      back: accountPath(id),
    });
    sendPage(response, page);
  }

  @Post(':id/:action')
  @OperatorAccess('operate')
  async act(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Param('action') name: string,
    @Body() body: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const action = actionOf(name);
    await action.run(this.accounts, actor, id, body);
    response.redirect(303, noticePath(accountPath(id), action.done));
  }
}
