import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import type { Response } from 'express';
import { databaseTrouble } from '../../../platform/database/health/database-trouble.ts';
import { DomainError } from '../../../platform/base/errors/domain-error.ts';
import { sendPage } from './page-response.ts';
import { problemPage } from '../pages/sign-in.pages.ts';
import { TEXTS } from '../pages/texts.ts';
import { SignInProblem } from './sign-in-problem.ts';

/** Turns every error of a page into an error page. */
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
      const { problem, status, message: text, wayBack } = error;
      return sendPage(
        response,
        problemPage(status, { title: TEXTS.problem[problem].title, text }, wayBack),
      );
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
