import { Body, Controller, Get, Post, Query, Res, UseFilters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '../../platform/auth/access.decorators.ts';
import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { randomBase36, SECRET_LENGTH } from '../../platform/base/ids/ids.ts';
import { STATUS } from '../../platform/http/errors/problem.filter.ts';
import { csrfToken, isFromOwnOrigin, isFromOwnPage } from '../access/sessions/csrf.ts';
import { OperatorOidcService } from '../access/operator-oidc.service.ts';
import { OperatorSessionsService } from '../access/sessions/operator-sessions.service.ts';
import { ForeignFormError } from '../access/operator.errors.ts';
import {
  linkCookie,
  oidcCookie,
  presentedLinkVisit,
  presentedOidcVisit,
} from '../access/sessions/session-cookie.ts';
import { browserOf, keepSession } from './browser-session.ts';
import { ConsoleFilter } from './console.filter.ts';
import { sendDocument } from './console-response.ts';
import { bouncePage } from './pages/problem.page.ts';
import { signInLinkPage, signInPage } from './pages/sign-in.page.ts';

type Fields = Readonly<Record<string, unknown>>;

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A page of the console, or the overview: nothing leads to other sites after a sign-in. */
function pageIn(value: unknown): string {
  const path = text(value);
  return /^\/console(?:[/?][\w\-./?=&%+~:]*)?$/.test(path) ? path : '/console';
}

/** The operators' sign-in (docs/console.md). */
@ApiExcludeController()
@Public()
@UseFilters(ConsoleFilter)
@Controller('console/sign-in')
export class ConsoleSignInController {
  constructor(
    private readonly sessions: OperatorSessionsService,
    private readonly oidc: OperatorOidcService,
  ) {}

  @Get()
  show(@Query() query: Fields, @Res() response: Response): void {
    const form = { name: '', to: pageIn(query['to']), error: null, oidc: this.oidc.isOffered };
    sendDocument(response, signInPage(form));
  }

  @Post()
  async signIn(@Body() body: Fields | null | undefined, @Res() response: Response): Promise<void> {
    if (!isFromOwnOrigin(response.req)) throw new ForeignFormError();
    const { name, password, to: after } = body ?? {};
    const to = pageIn(after);
    try {
      const browser = browserOf(response.req);
      const session = await this.sessions.signInByPassword(text(name), text(password), browser);
      keepSession(response, session);
      response.redirect(303, to);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      const { message, kind, details } = error;
      if (details.retryAfterSeconds !== undefined)
        response.set('Retry-After', String(details.retryAfterSeconds));
      const form = { name: text(name), to, error: message, oidc: this.oidc.isOffered };
      sendDocument(response, signInPage(form), STATUS[kind]);
    }
  }

  /**
   * The page of a link that works once (`carillon operator link`, and `npm start`). It changes
   * nothing: chat programs and mail scanners open links, too.
   */
  @Get('link')
  askByLink(@Query() query: Fields, @Res() response: Response): void {
    const { name, options } = linkCookie(response.req);
    const visit = presentedLinkVisit(response.req) || randomBase36(SECRET_LENGTH);
    response.cookie(name, visit, options);
    const form = { secret: text(query['secret']), to: pageIn(query['to']), csrf: csrfToken(visit) };
    sendDocument(response, signInLinkPage(form));
  }

  /** Signs in by a link and uses it up. */
  @Post('link')
  async byLink(@Body() body: Fields | null | undefined, @Res() response: Response): Promise<void> {
    const { req } = response;
    const visit = presentedLinkVisit(req);
    if (!visit || !isFromOwnPage(req, visit)) throw new ForeignFormError();
    const { secret, to } = body ?? {};
    keepSession(response, await this.sessions.signInByLink(text(secret), browserOf(req), visit));
    response.redirect(303, pageIn(to));
  }

  /** Leads to the OpenID Connect provider. */
  @Get('oidc')
  async leave(@Query() query: Fields, @Res() response: Response): Promise<void> {
    const { url, cookie } = await this.oidc.begin(pageIn(query['to']));
    const { name, options } = oidcCookie(response.req);
    response.cookie(name, cookie, options);
    response.redirect(302, url);
  }

  /** The provider sends the browser back here. */
  @Get('callback')
  async comeBack(@Res() response: Response): Promise<void> {
    const { req } = response;
    const { searchParams } = new URL(req.originalUrl, 'http://localhost');
    const visit = presentedOidcVisit(req);
    const { to, ...session } = await this.oidc.finish(searchParams, visit, browserOf(req));
    const { name, options } = oidcCookie(req);
    response.clearCookie(name, options);
    keepSession(response, session);
    sendDocument(response, bouncePage(pageIn(to)));
  }
}
