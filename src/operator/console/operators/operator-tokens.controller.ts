import { Body, Get, Param, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { Actor } from '../../../platform/audit/actor.ts';
import { NotFoundError } from '../../../platform/base/errors/domain-error.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { CurrentActor, OperatorAccess } from '../../access/operator-access.decorators.ts';
import { OIDC_CONFIRMED_DAYS } from '../../access/oidc-confirmation.ts';
import { OPERATOR_ROLES } from '../../access/operator-role.ts';
import { OperatorTokensService } from '../../access/operator-tokens.service.ts';
import { type ListedOperator, OperatorsService } from '../../access/operators.service.ts';
import { ConsolePages } from '../console-page.decorator.ts';
import { sendPage, viewerOf } from '../console-response.ts';
import { exactly } from '../kit/time.ts';
import { noticePath } from '../notices.ts';
import { actionPage, secretPage } from '../pages/action.page.ts';
import { choiceIn, type Fields, textIn } from '../queries.ts';
import {
  OPERATOR_TOKEN_LIFETIMES,
  operatorCrumbs,
  operatorPath,
  operatorTokenFields,
} from './operators.page.ts';

/** What else a token of an operator of OpenID Connect needs; nothing for all others. */
const signInRule = ({ name, issuer }: ListedOperator): string[] =>
  issuer === null ? [] : [`It ends ${OIDC_CONFIRMED_DAYS} days after the last sign-in of ${name}.`];

/** Tokens of an operator for the admin API. */
@ConsolePages('operators/:id/tokens')
export class ConsoleOperatorTokensController {
  constructor(
    private readonly operators: OperatorsService,
    private readonly tokens: OperatorTokensService,
    private readonly clock: Clock,
  ) {}

  @Get('new')
  @OperatorAccess('operate')
  async ask(@Param('id') id: string, @Res() response: Response): Promise<void> {
    const operator = await this.operators.get(id);
    const page = actionPage(viewerOf(response.req), {
      section: 'operators',
      title: `Make a token for ${operator.name}?`,
      consequences: [
        'A script that sends the token can use the admin API as this operator, and the audit log names the operator. The token is shown once.',
        ...signInRule(operator),
      ].join(' '),
      crumbs: operatorCrumbs(operator),
      path: `${operatorPath(id)}/tokens`,
      fields: operatorTokenFields(operator),
      button: 'Make the token',
      back: operatorPath(id),
    });
    sendPage(response, page);
  }

  /** The page has the token, so there is no redirect: the token is shown once. */
  @Post()
  @OperatorAccess('operate')
  async make(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Body() body: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const operator = await this.operators.get(id);
    const lifetime = choiceIn(body, 'lifetime', Object.keys(OPERATOR_TOKEN_LIFETIMES));
    const made = await this.tokens.create(actor, {
      operatorName: operator.name,
      note: textIn(body, 'note') ?? '',
      role: choiceIn(body, 'role', OPERATOR_ROLES) ?? 'read',
      lifetimeSeconds: lifetime ? Number(lifetime) : null,
    });
    const { expiresAt } = made;
    const until = expiresAt ? exactly(expiresAt, this.clock.now()) : 'it is revoked';
    const page = secretPage({
      section: 'operators',
      title: 'Token for the admin API',
      text: `A token of ${operator.name}. A script sends it as Bearer.`,
      what: 'token',
      value: made.token,
      crumbs: operatorCrumbs(operator),
      more: [
        ['Id', made.id],
        ['Works until', [until, ...signInRule(operator)].join('. ')],
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
    const operator = await this.operators.get(id);
    const page = actionPage(viewerOf(response.req), {
      section: 'operators',
      title: 'Revoke this token?',
      consequences:
        'The script that has it gets 401 from the next request on. This cannot be undone, but you can make another token.',
      crumbs: operatorCrumbs(operator),
      path: `${operatorPath(id)}/tokens/${encodeURIComponent(tokenId)}/revoke`,
      button: 'Revoke the token',
      danger: true,
      back: operatorPath(id),
    });
    sendPage(response, page);
  }

  @Post(':tokenId/revoke')
  @OperatorAccess('operate')
  async revoke(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Param('tokenId') tokenId: string,
    @Res() response: Response,
  ): Promise<void> {
    const all = await this.tokens.list();
    if (!all.some((token) => token.id === tokenId && token.operatorId === id))
      throw new NotFoundError('operator token', tokenId);
    await this.tokens.revoke(actor, tokenId);
    response.redirect(303, noticePath(operatorPath(id), 'operator-token-revoked'));
  }
}
