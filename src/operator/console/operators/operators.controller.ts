import { Body, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { Actor } from '../../../platform/audit/actor.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import {
  CurrentActor,
  CurrentOperator,
  OperatorAccess,
} from '../../access/operator-access.decorators.ts';
import { OperatorLinksService } from '../../access/operator-links.service.ts';
import type { OperatorPrincipal } from '../../access/operator-principal.ts';
import { OPERATOR_ROLES } from '../../access/operator-role.ts';
import { OperatorTokensService } from '../../access/operator-tokens.service.ts';
import { type ListedOperator, OperatorsService } from '../../access/operators.service.ts';
import { ActionPages } from '../action-pages.ts';
import { ConsolePages } from '../console-page.decorator.ts';
import { sendPage, viewerOf } from '../console-response.ts';
import { noticeIn } from '../notices.ts';
import { actionPage } from '../pages/action.page.ts';
import { choiceIn, type Fields, textIn } from '../queries.ts';
import { LINK, type LinkPage, linkPages, operatorActions } from './operator-actions.ts';
import {
  operatorCrumbs,
  operatorFields,
  operatorPage,
  operatorPath,
  OPERATORS_PATH,
  operatorsPage,
} from './operators.page.ts';
import { OWN_PASSWORD_PATH } from './own-password.page.ts';

/** Operators, what they may do, and how they sign in. */
@ConsolePages('operators')
export class ConsoleOperatorsController extends ActionPages<ListedOperator> {
  readonly #linkPage: LinkPage;

  constructor(
    private readonly operators: OperatorsService,
    links: OperatorLinksService,
    private readonly tokens: OperatorTokensService,
    private readonly clock: Clock,
  ) {
    const linkPage = linkPages(links, clock);
    super({
      section: 'operators',
      find: (id) => operators.get(id),
      placeOf: (operator) => ({
        path: operatorPath(operator.id),
        crumbs: operatorCrumbs(operator),
      }),
      actions: operatorActions(operators, linkPage),
    });
    this.#linkPage = linkPage;
  }

  @Get()
  async list(@Query() query: Fields, @Res() response: Response): Promise<void> {
    const view = { now: this.clock.now(), notice: noticeIn(query) };
    const all = await this.operators.list();
    sendPage(response, operatorsPage(viewerOf(response.req), all, view));
  }

  @Get('new')
  @OperatorAccess('operate')
  askNew(@Res() response: Response): void {
    const page = actionPage(viewerOf(response.req), {
      section: 'operators',
      title: 'Create an operator?',
      consequences: `${LINK} The operator then chooses a password.`,
      crumbs: [{ path: OPERATORS_PATH, label: 'Operators' }],
      path: `${OPERATORS_PATH}/new`,
      fields: operatorFields(),
      button: 'Create the operator',
      back: OPERATORS_PATH,
    });
    sendPage(response, page);
  }

  @Post('new')
  @OperatorAccess('operate')
  async create(
    @CurrentActor() actor: Actor,
    @Body() body: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const role = choiceIn(body, 'role', OPERATOR_ROLES) ?? 'read';
    const name = textIn(body, 'name') ?? '';
    const id = await this.operators.create(actor, { name, role, password: null });
    const operator = await this.operators.get(id);
    sendPage(response, await this.#linkPage(actor, operator, OWN_PASSWORD_PATH));
  }

  @Get(':id')
  async show(
    @CurrentOperator() { operatorId }: OperatorPrincipal,
    @Param('id') id: string,
    @Query() query: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const [operator, tokens] = await Promise.all([this.operators.get(id), this.tokens.list()]);
    const view = { now: this.clock.now(), notice: noticeIn(query), own: id === operatorId };
    const own = tokens.filter((token) => token.operatorId === id);
    sendPage(response, operatorPage(viewerOf(response.req), operator, own, view));
  }
}
