import { Get, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Clock } from '../../platform/base/time/clock.ts';
import { CurrentOperator } from '../access/operator-access.decorators.ts';
import type { OperatorPrincipal } from '../access/operator-principal.ts';
import { OperatorSessionsService } from '../access/sessions/operator-sessions.service.ts';
import { sessionCookie } from '../access/sessions/session-cookie.ts';
import { OverviewService } from '../overview/overview.service.ts';
import { ConsolePages } from './console-page.decorator.ts';
import { sendPage } from './console-response.ts';
import { failedRequestsPage } from './pages/failed-requests.page.ts';
import { overviewPage } from './pages/overview/overview.page.ts';
import { SIGN_IN_PATH } from './pages/sign-in.page.ts';

/** The first page, the requests that failed, and the end of a session. */
@ConsolePages()
export class ConsoleOverviewController {
  constructor(
    private readonly overview: OverviewService,
    private readonly sessions: OperatorSessionsService,
    private readonly clock: Clock,
  ) {}

  @Get()
  async show(@Res() response: Response): Promise<void> {
    sendPage(response, overviewPage(await this.overview.read()));
  }

  @Get('failed-requests')
  async showFailedRequests(@Res() response: Response): Promise<void> {
    const failed = await this.overview.failedRequests();
    sendPage(response, failedRequestsPage(failed, this.clock.now()));
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
