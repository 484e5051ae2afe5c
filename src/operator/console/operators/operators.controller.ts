import { Body, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { Actor } from '../../../platform/audit/actor.ts';
import { InvalidInputError, NotFoundError } from '../../../platform/base/errors/domain-error.ts';
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
import { ConsolePages } from '../console-page.decorator.ts';
import { sendPage, viewerOf } from '../console-response.ts';
import { exactly } from '../kit/time.ts';
import { type NoticeCode, noticeIn, noticePath } from '../notices.ts';
import { actionPage, type AskedAction, secretPage, typedField } from '../pages/action.page.ts';
import { choiceIn, type Fields, textIn } from '../queries.ts';
import {
  operatorCrumbs,
  operatorFields,
  operatorPage,
  operatorPath,
  OPERATORS_PATH,
  operatorsPage,
} from './operators.page.ts';
import { OWN_PASSWORD_PATH } from './own-password.page.ts';

type Question = Pick<AskedAction, 'title' | 'consequences' | 'button' | 'danger' | 'fields'>;

/** An action on an operator: its page, and what it does. */
interface OperatorAction {
  ask: (operator: ListedOperator) => Question;
  run: (operators: OperatorsService, actor: Actor, name: string, body: Fields) => Promise<void>;
  done: NoticeCode;
}

const LINK =
  'You get a link that signs the operator in once, within an hour. Send it to that person only.';

const ACTIONS: Readonly<Record<string, OperatorAction>> = {
  operate: {
    ask: ({ name }) => ({
      title: `Let ${name} change things?`,
      consequences: `${name} can then do everything that you can, also with operators. The sessions of ${name} end.`,
      button: 'Give the role operate',
    }),
    run: (operators, actor, name) => operators.setRole(actor, name, 'operate'),
    done: 'role-changed',
  },
  read: {
    ask: ({ name }) => ({
      title: `Restrict ${name} to reading?`,
      consequences: `${name} and the tokens of ${name} can change nothing any more. The sessions of ${name} end.`,
      button: 'Give the role read',
    }),
    run: (operators, actor, name) => operators.setRole(actor, name, 'read'),
    done: 'role-changed',
  },
  disable: {
    ask: ({ name }) => ({
      title: `Disable ${name}?`,
      consequences: `The sessions and sign-in links of ${name} end, and no token of ${name} works, until somebody enables ${name} again. Nothing is deleted.`,
      button: 'Disable the operator',
      danger: true,
    }),
    run: (operators, actor, name) => operators.disable(actor, name),
    done: 'operator-disabled',
  },
  enable: {
    ask: ({ name }) => ({
      title: `Enable ${name}?`,
      consequences: `The password and the tokens of ${name} work again.`,
      button: 'Enable the operator',
    }),
    run: (operators, actor, name) => operators.enable(actor, name),
    done: 'operator-enabled',
  },
  remove: {
    ask: ({ name }) => ({
      title: `Remove ${name}?`,
      consequences: `The operator is deleted with all sessions, sign-in links and tokens. What ${name} did stays in the audit log. This cannot be undone.`,
      button: 'Remove the operator',
      danger: true,
      fields: typedField(name),
    }),
    run: async (operators, actor, name, body) => {
      if (textIn(body, 'confirm') !== name)
        throw new InvalidInputError(`confirm: type ${name} to remove this operator`);
      await operators.remove(actor, name);
    },
    done: 'operator-removed',
  },
};

/** Actions whose result is a link: it is shown once, as the response to the form. */
const LINK_QUESTIONS: Readonly<Record<string, (operator: ListedOperator) => Question>> = {
  'sign-in-link': ({ name }) => ({
    title: `Make a sign-in link for ${name}?`,
    consequences: LINK,
    button: 'Make the link',
  }),
  'reset-password': ({ name }) => ({
    title: `Reset the password of ${name}?`,
    consequences: `The password is removed, and all sessions of ${name} end. ${LINK} The operator then chooses a new password.`,
    button: 'Reset the password',
    danger: true,
  }),
};

function entryOf<T>(entries: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined;
}

/** Operators, what they may do, and how they sign in. */
@ConsolePages('operators')
export class ConsoleOperatorsController {
  constructor(
    private readonly operators: OperatorsService,
    private readonly links: OperatorLinksService,
    private readonly tokens: OperatorTokensService,
    private readonly clock: Clock,
  ) {}

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
    await this.#showLink(actor, response, await this.operators.get(id), OWN_PASSWORD_PATH);
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

  @Get(':id/:action')
  @OperatorAccess('operate')
  async ask(
    @Param('id') id: string,
    @Param('action') name: string,
    @Res() response: Response,
  ): Promise<void> {
    const question = entryOf(LINK_QUESTIONS, name) ?? entryOf(ACTIONS, name)?.ask;
    if (!question) throw new NotFoundError('action', name);
    const operator = await this.operators.get(id);
    const page = actionPage(viewerOf(response.req), {
      ...question(operator),
      section: 'operators',
      crumbs: operatorCrumbs(operator),
      path: `${operatorPath(id)}/${name}`,
      back: operatorPath(id),
    });
    sendPage(response, page);
  }

  @Post(':id/sign-in-link')
  @OperatorAccess('operate')
  async makeLink(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Res() response: Response,
  ): Promise<void> {
    await this.#showLink(actor, response, await this.operators.get(id));
  }

  @Post(':id/reset-password')
  @OperatorAccess('operate')
  async resetPassword(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Res() response: Response,
  ): Promise<void> {
    const operator = await this.operators.get(id);
    await this.operators.resetPassword(actor, operator.name);
    await this.#showLink(actor, response, operator, OWN_PASSWORD_PATH);
  }

  @Post(':id/:action')
  @OperatorAccess('operate')
  async act(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Param('action') actionName: string,
    @Body() body: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const action = entryOf(ACTIONS, actionName);
    if (!action) throw new NotFoundError('action', actionName);
    const { name } = await this.operators.get(id);
    await action.run(this.operators, actor, name, body);
    const isThere = action.done !== 'operator-removed';
    response.redirect(303, noticePath(isThere ? operatorPath(id) : OPERATORS_PATH, action.done));
  }

  /** @param to the page that the link opens; default: the overview */
  async #showLink(
    actor: Actor,
    response: Response,
    operator: ListedOperator,
    to?: string,
  ): Promise<void> {
    const { name } = operator;
    const { url, endsAt } = await this.links.create(actor, name);
    const page = secretPage({
      section: 'operators',
      title: 'Sign-in link',
      text: `Send this link to ${name}, and to nobody else. It works once.`,
      what: 'link',
      value: to === undefined ? url : `${url}&to=${to}`,
      crumbs: operatorCrumbs(operator),
      more: [['Works until', exactly(endsAt, this.clock.now())]],
    });
    sendPage(response, page);
  }
}
