import { Get, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { CurrentOperator } from '../access/operator-access.decorators.ts';
import type { OperatorPrincipal } from '../access/operator-principal.ts';
import { OperatorSessions } from '../access/operator-sessions.service.ts';
import { sessionCookie } from '../access/session-cookie.ts';
import { OverviewService } from '../overview/overview.service.ts';
import { ConsolePages } from './console-page.decorator.ts';
import { sendPage } from './console-response.ts';
import { overviewPage } from './pages/overview.page.ts';
import { SIGN_IN_PATH } from './pages/sign-in.page.ts';

/** The first page, and the end of a session. */
@ConsolePages()
export class ConsoleOverviewController {
  constructor(
    private readonly overview: OverviewService,
    private readonly sessions: OperatorSessions,
  ) {}

  @Get()
  async show(@Res() response: Response): Promise<void> {
    sendPage(response, overviewPage(await this.overview.read()));
  }

  @Post('sign-out')
  async signOut(
    @CurrentOperator() { operatorId, sessionId }: OperatorPrincipal,
    @Res() response: Response,
  ): Promise<void> {
    if (sessionId !== null) await this.sessions.signOut(operatorId, sessionId);
    const { name, options } = sessionCookie(response.req);
    response.clearCookie(name, options);
    response.redirect(303, SIGN_IN_PATH);
  }
}
