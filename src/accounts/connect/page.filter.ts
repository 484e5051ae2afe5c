import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import type { Response } from 'express';
import { databaseTrouble } from '../../platform/database/database-trouble.ts';
import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { sendPage } from './page-response.ts';
import { problemPage } from './pages/sign-in.pages.ts';
import { TEXTS } from './pages/texts.ts';
import { type ProblemName, SignInProblem } from './sign-in-problem.ts';

const STATUS: Readonly<Record<ProblemName, number>> = {
  unknown: 404,
  missing: 404,
  used: 410,
  expired: 410,
  elsewhere: 403,
  cookies: 403,
  redirect: 400,
  client: 400,
  request: 400,
  refused: 403,
  tooMany: 429,
  broken: 500,
};

/** Turns every error of a page into a page. */
@Catch()
export class PageFilter implements ExceptionFilter {
  readonly #log = new Logger('SignIn');

  catch(error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (error instanceof SignInProblem) {
      const { problem, message: text, wayBack } = error;
      const { title } = TEXTS.problem[problem];
      return sendPage(response, problemPage(STATUS[problem], { title, text }, wayBack));
    }
    if (error instanceof DomainError && error.kind !== 'unavailable') {
      const { title } = TEXTS.problem.request;
      const status = error.kind === 'rate-limited' ? 429 : 400;
      if (status === 429) response.set('Retry-After', String(error.details.retryAfterSeconds ?? 1));
      return sendPage(response, problemPage(status, { title, text: error.message }));
    }
    this.#log.error(error);
    sendPage(response, problemPage(databaseTrouble(error) ? 503 : 500, TEXTS.problem.broken));
  }
}
