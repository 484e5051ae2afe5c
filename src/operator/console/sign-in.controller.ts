import { Body, Controller, Get, Post, Query, Res, UseFilters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../../platform/auth/access.decorators.ts';
import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { clientAddress } from '../../platform/base/client-address.ts';
import { STATUS } from '../../platform/http/problem.filter.ts';
import { isFromOwnOrigin } from '../access/csrf.ts';
import { ForeignFormError } from '../access/operator.errors.ts';
import { type NewSession, OperatorSessions } from '../access/operator-sessions.service.ts';
import { presentedSession, sessionCookie } from '../access/session-cookie.ts';
import { ConsoleFilter } from './console.filter.ts';
import { sendDocument } from './console-response.ts';
import { signInPage } from './pages/sign-in.page.ts';

type Fields = Readonly<Record<string, unknown>>;

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A page of the console, or the overview: nothing leads to other sites after a sign-in. */
function pageIn(value: unknown): string {
  const path = text(value);
  return /^\/console(?:[/?][\w\-./?=&%+~:]*)?$/.test(path) ? path : '/console';
}

const browserOf = (request: Request) => ({
  address: clientAddress(request),
  presented: presentedSession(request),
});

/** Gives the browser the cookie of its new session, and opens the page. */
export function enter(response: Response, { secret, endsAt }: NewSession, to: unknown): void {
  const { name, options } = sessionCookie(response.req);
  response.cookie(name, secret, { ...options, expires: endsAt });
  response.redirect(303, pageIn(to));
}

/** The operators' sign-in (docs/console.md). */
@ApiExcludeController()
@Public()
@UseFilters(ConsoleFilter)
@Controller('console/sign-in')
export class ConsoleSignInController {
  constructor(private readonly sessions: OperatorSessions) {}

  @Get()
  show(@Query() query: Fields, @Res() response: Response): void {
    sendDocument(
      response,
      signInPage({ name: '', to: pageIn(query['to']), error: null, oidc: false }),
    );
  }

  @Post()
  async signIn(@Body() body: Fields, @Res() response: Response): Promise<void> {
    if (!isFromOwnOrigin(response.req)) throw new ForeignFormError();
    const { name, password, to } = body;
    try {
      const browser = browserOf(response.req);
      enter(
        response,
        await this.sessions.signInByPassword(text(name), text(password), browser),
        to,
      );
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      const { message, kind, details } = error;
      if (details.retryAfterSeconds !== undefined)
        response.set('Retry-After', String(details.retryAfterSeconds));
      const page = signInPage({ name: text(name), to: pageIn(to), error: message, oidc: false });
      sendDocument(response, page, STATUS[kind]);
    }
  }

  /** A link that works once (`carillon operator link`, and `npm start`). */
  @Get('link')
  async byLink(@Query() query: Fields, @Res() response: Response): Promise<void> {
    const browser = browserOf(response.req);
    enter(response, await this.sessions.signInByLink(text(query['secret']), browser), query['to']);
  }
}
