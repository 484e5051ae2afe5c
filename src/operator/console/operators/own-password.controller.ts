import { Body, Get, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { Actor } from '../../../platform/audit/actor.ts';
import { WrongPasswordError } from '../../../platform/auth/failed-attempts.ts';
import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import { STATUS } from '../../../platform/http/errors/problem.filter.ts';
import type { FieldErrors } from '../../../platform/pages/fields.ts';
import { CurrentActor, CurrentOperator } from '../../access/operator-access.decorators.ts';
import type { OperatorPrincipal } from '../../access/operator-principal.ts';
import { OperatorSessionsService } from '../../access/sessions/operator-sessions.service.ts';
import { type ListedOperator, OperatorsService } from '../../access/operators.service.ts';
import { browserOf, keepSession } from '../browser-session.ts';
import { ConsolePages } from '../console-page.decorator.ts';
import { sendPage, viewerOf } from '../console-response.ts';
import { noticeIn, noticePath } from '../notices.ts';
import type { Fields } from '../queries.ts';
import { OWN_PASSWORD_PATH, ownPasswordPage } from './own-password.page.ts';

/** A password as it was typed, spaces included. */
const typed = (body: Fields, name: string): string => {
  const value = body[name];
  return typeof value === 'string' ? value : '';
};

/** The error of a form field; `null` for any other error. */
function fieldErrorsOf(error: unknown): { errors: FieldErrors; status: number } | null {
  if (error instanceof WrongPasswordError)
    return { errors: { current: 'Your current password is wrong.' }, status: STATUS.invalid };
  if (error instanceof InvalidInputError)
    return {
      errors: { password: error.message.replace(/^password: /, 'The password ') },
      status: STATUS.invalid,
    };
  return null;
}

/** The own password of an operator, whatever the role. The current one has to be repeated. */
@ConsolePages('password')
export class ConsoleOwnPasswordController {
  constructor(
    private readonly operators: OperatorsService,
    private readonly sessions: OperatorSessionsService,
  ) {}

  @Get()
  async show(
    @CurrentOperator() { operatorId }: OperatorPrincipal,
    @Query() query: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const { hasPassword, issuer } = await this.operators.get(operatorId);
    const form = { hasPassword, issuer, errors: {}, notice: noticeIn(query) };
    sendPage(response, ownPasswordPage(viewerOf(response.req), form));
  }

  @Post()
  async change(
    @CurrentOperator() { operatorId, sessionId }: OperatorPrincipal,
    @CurrentActor() actor: Actor,
    @Body() body: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const operator = await this.operators.get(operatorId);
    try {
      await this.#set({ ...operator, sessionId }, actor, body, response);
      response.redirect(303, noticePath(OWN_PASSWORD_PATH, 'password-changed'));
    } catch (error) {
      const refused = fieldErrorsOf(error);
      if (!refused) throw error;
      const { hasPassword, issuer } = operator;
      const form = { hasPassword, issuer, errors: refused.errors, notice: null };
      sendPage(response, ownPasswordPage(viewerOf(response.req), form), refused.status);
    }
  }

  /** All sessions end with the change. This browser gets a new one. */
  async #set(
    { id, name, hasPassword, sessionId }: ListedOperator & Pick<OperatorPrincipal, 'sessionId'>,
    actor: Actor,
    body: Fields,
    response: Response,
  ): Promise<void> {
    const browser = browserOf(response.req);
    if (hasPassword) await this.sessions.prove(name, typed(body, 'current'), browser);
    const password = typed(body, 'password');
    const passwordHash = await this.operators.setOwnPassword(actor, { name, sessionId, password });
    keepSession(response, await this.sessions.signInProven({ id, name, passwordHash }, browser));
  }
}
