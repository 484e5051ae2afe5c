import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { DomainError } from '../../platform/base/errors/domain-error.ts';
import {
  databaseTrouble,
  describeDatabaseTrouble,
} from '../../platform/database/health/database-trouble.ts';
import { STATUS } from '../../platform/http/errors/problem.filter.ts';
import { OperatorSignInRequiredError } from '../access/operator.errors.ts';
import { presentedSession } from '../access/sessions/session-cookie.ts';
import { sendDocument } from './console-response.ts';
import { bouncePage, problemPage } from './pages/problem.page.ts';
import { signInPath } from './pages/sign-in.page.ts';

/** Turns every error of a page into a page that says what to do. */
@Catch()
export class ConsoleFilter implements ExceptionFilter {
  readonly #log = new Logger('Console');

  catch(error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (error instanceof OperatorSignInRequiredError) return askToSignIn(response);
    if (error instanceof DomainError) {
      if (error.kind === 'unavailable') this.#log.error(error);
      if (error.details.retryAfterSeconds !== undefined)
        response.set('Retry-After', String(error.details.retryAfterSeconds));
      return sendDocument(response, problemPage(error.message), STATUS[error.kind]);
    }
    if (error instanceof HttpException && error.getStatus() < 500)
      return sendDocument(response, problemPage('There is no such page.'), error.getStatus());
    this.#log.error(error);
    const unreachable = databaseTrouble(error);
    sendDocument(
      response,
      problemPage(
        unreachable
          ? `The database ${describeDatabaseTrouble(error)}. Nothing was changed. Check the database, then reload this page.`
          : 'Something went wrong on our side. The log of this process says what.',
      ),
      unreachable ? 503 : 500,
    );
  }
}

/**
 * Leads to the sign-in. A link on another site comes without the session's cookie, which is
 * `SameSite=Strict`: the page then opens itself once more, and the browser sends the cookie.
 */
function askToSignIn(response: Response): void {
  const { req } = response;
  const isLinked = req.method === 'GET' && req.headers['sec-fetch-site'] === 'cross-site';
  if (isLinked && presentedSession(req) === '')
    return sendDocument(response, bouncePage(req.originalUrl));
  response.redirect(303, signInPath(pageOf(req)));
}

/** The page to open after the sign-in: the requested one, unless a form was sent. */
const pageOf = ({ method, originalUrl }: Request): string =>
  method === 'GET' ? originalUrl : '/console';
