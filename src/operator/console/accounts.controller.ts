import { Get, Param, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { GrantTokensService } from '../../accounts/grants/tokens/grant-tokens.service.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { MOST_DAYS } from '../../sync/audit/audit-days.ts';
import { CompletenessService } from '../../sync/completeness/completeness.service.ts';
import { type AccountDetail, ACCOUNT_HEALTHS } from '../accounts/account-health.ts';
import { OperatorAccounts } from '../accounts/operator-accounts.ts';
import { SignInLinksService } from '../accounts/sign-in-links.service.ts';
import { type ConsoleAction, ActionPages } from './action-pages.ts';
import { ConsolePages } from './console-page.decorator.ts';
import { sendPage, viewerOf } from './console-response.ts';
import { counted } from './kit/figures.ts';
import { exactly } from './kit/time.ts';
import { noticeIn } from './notices.ts';
import { accountCrumbs, accountPage, accountPath } from './pages/account.page.ts';
import { ACCOUNT_FILTERS, accountsPage } from './pages/accounts.page.ts';
import { reasonField, secretPage } from './pages/action.page.ts';
import { choiceIn, type Fields, filterIn, positionIn, reasonIn } from './queries.ts';

/** Tokens that the page of an account shows, the oldest first. */
const MOST_TOKENS = 200;

function accountActions(
  accounts: OperatorAccounts,
  links: SignInLinksService,
  clock: Clock,
): Readonly<Record<string, ConsoleAction<AccountDetail>>> {
  return {
    pause: {
      ask: ({ email, messages }) => ({
        title: `Pause sending for ${email}?`,
        consequences: `Its ${counted(messages.open, 'open message')} and its reminders by email wait until you resume. Messages whose deadline passes meanwhile fail.`,
        button: 'Pause sending',
        fields: reasonField('The users of the account see it.'),
      }),
      run: (actor, { id }, body) => accounts.pauseSending(actor, id, reasonIn(body)),
      done: 'sending-paused',
    },
    resume: {
      ask: ({ email, messages }) => ({
        title: `Resume sending for ${email}?`,
        consequences: `${counted(messages.paused, 'waiting message')} will be sent, unless a deadline has passed. A pause of its application still lasts.`,
        button: 'Resume sending',
      }),
      run: (actor, { id }) => accounts.resumeSending(actor, id),
      done: 'sending-resumed',
    },
    'sign-in-link': {
      ask: ({ email }) => ({
        title: `Make a sign-in link for ${email}?`,
        consequences:
          'The link opens the sign-in pages for this account for 30 minutes. Send it to the user of the account only: with it, the user signs in again, and nothing else changes.',
        button: 'Make the link',
      }),
      show: async (actor, { id }) => {
        const { email, url, expiresAt } = await links.create(actor, id);
        return secretPage({
          section: 'accounts',
          title: 'Sign-in link',
          text: `Send this link to the user of ${email}, and to nobody else.`,
          what: 'link',
          value: url,
          crumbs: accountCrumbs({ id, email }),
          more: [['Works until', exactly(expiresAt, clock.now())]],
        });
      },
    },
  };
}

/** Accounts of all applications by health, and actions on them. */
@ConsolePages('accounts')
export class ConsoleAccountsController extends ActionPages<AccountDetail> {
  constructor(
    private readonly accounts: OperatorAccounts,
    links: SignInLinksService,
    private readonly tokens: GrantTokensService,
    private readonly completeness: CompletenessService,
    private readonly clock: Clock,
  ) {
    super({
      section: 'accounts',
      find: (id) => accounts.get(id),
      placeOf: (account) => ({ path: accountPath(account.id), crumbs: accountCrumbs(account) }),
      actions: accountActions(accounts, links, clock),
    });
  }

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
}
