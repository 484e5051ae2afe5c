import {
  Body,
  Controller,
  Get,
  Header,
  Headers,
  Post,
  Query,
  Res,
  UseFilters,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../../../platform/auth/access.decorators.ts';
import { scopeList } from '../../../platform/auth/scope.schema.ts';
import { ClientAddress } from '../../../platform/http/client-address.decorator.ts';
import { CACHED_FOR_EVER } from '../../../platform/pages/assets.ts';
import { newBrowserSecret } from './browser-secret.ts';
import { sendStep } from './page-response.ts';
import { PageFilter } from './page.filter.ts';
import { stepPath } from '../pages/form.ts';
import { ICON_FILE, STYLES_FILE } from '../pages/styles.ts';
import { ALL_SCOPES, donePage } from '../pages/sign-in.pages.ts';
import { SignInCredentialsService } from './sign-in-credentials.service.ts';
import { SignInProblem } from './sign-in-problem.ts';
import { type Agreement, RETURNED, SignInService } from './sign-in.service.ts';
import { SignInOauthService } from './sign-in-oauth.service.ts';
import { SignInVisits, type Step, type Visit } from './sign-in-visits.ts';

type Fields = Readonly<Record<string, unknown>>;

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const linkIn = (request: Request): string => text(request.query['id']);

function agreementOf(body: Fields): Agreement {
  const named =
    body['scopes'] === ALL_SCOPES ? null : scopeList().safeParse(text(body['scopes'])).data;
  return { account: text(body['account']), scopes: named ?? null };
}

/**
 * The pages of the hosted sign-in (docs/hosted-sign-in.md). The link's secret is in the query,
 * which is not logged.
 */
@ApiExcludeController()
@Public()
@UseFilters(PageFilter)
@Controller('connect/login')
export class SignInController {
  constructor(
    private readonly visits: SignInVisits,
    private readonly signIn: SignInService,
    private readonly credentials: SignInCredentialsService,
    private readonly oauth: SignInOauthService,
  ) {}

  @Get(STYLES_FILE.name)
  @Header('Content-Type', 'text/css; charset=utf-8')
  @Header('Cache-Control', CACHED_FOR_EVER)
  styles(): string {
    return STYLES_FILE.content;
  }

  @Get(ICON_FILE.name)
  @Header('Content-Type', 'image/svg+xml')
  @Header('Cache-Control', CACHED_FOR_EVER)
  icon(): string {
    return ICON_FILE.content;
  }

  @Get()
  async show(@Res() response: Response, @Query() query: Fields): Promise<void> {
    const visit = await this.#visit(response);
    const provider = text(query['provider']) || undefined;
    sendStep(response, await this.signIn.view(visit, provider, query['again'] === 'true'));
  }

  /**
   * Pages that answer a form have the form's URL. Reopened browsers and users load that URL again
   * with GET.
   */
  @Get(['credentials', 'provider', 'consent', 'deny'])
  goOn(@Res() response: Response): void {
    sendStep(response, { redirect: stepPath('', linkIn(response.req)) });
  }

  @Post('credentials')
  async enter(
    @Res() response: Response,
    @Body() body: Fields,
    @ClientAddress() client: string,
  ): Promise<void> {
    const visit = await this.#sent(response);
    sendStep(response, await this.credentials.enter(visit, body, client));
  }

  @Post('provider')
  async leave(@Res() response: Response, @Body() body: Fields): Promise<void> {
    sendStep(response, await this.oauth.leave(await this.#sent(response), body['provider']));
  }

  @Post('consent')
  async consent(
    @Res() response: Response,
    @Body() body: Fields,
    @Headers('user-agent') userAgent: string | undefined,
    @ClientAddress() ip: string,
  ): Promise<void> {
    await this.#end(response, (visit) =>
      this.signIn.consent(visit, agreementOf(body), { userAgent, ip }),
    );
  }

  @Post('deny')
  async deny(@Res() response: Response): Promise<void> {
    await this.#end(response, (visit) => this.signIn.cancel(visit, RETURNED.denied));
  }

  @Get('cancel')
  async confirmCancel(@Res() response: Response): Promise<void> {
    sendStep(response, this.signIn.confirmCancel(await this.#visit(response)));
  }

  @Post('cancel')
  async cancel(@Res() response: Response): Promise<void> {
    await this.#end(response, (visit) => this.signIn.cancel(visit, RETURNED.cancelled));
  }

  /** The end of a sign-in without a redirect address. The code in the query is not needed. */
  @Get('done')
  done(@Res() response: Response, @Query() query: Fields): void {
    sendStep(response, { page: donePage(query['success'] === 'true') });
  }

  /** A browser without a secret gets one with its first page. */
  async #visit(response: Response): Promise<Visit> {
    const { cookie } = this.visits;
    const known = cookie.read(response.req.headers.cookie);
    const secret = known ?? newBrowserSecret();
    const visit = await this.visits.open(linkIn(response.req), secret);
    if (known === undefined) response.append('Set-Cookie', cookie.write(secret));
    return visit;
  }

  /** Handles a form that ends the sign-in. If it is sent twice, both responses are the same. */
  async #end(response: Response, work: (visit: Visit) => Promise<Step>): Promise<void> {
    const step = await this.#sent(response)
      .then(work)
      .catch(async (error: unknown): Promise<Step> => {
        if (!(error instanceof SignInProblem) || error.problem !== 'used') throw error;
        const secret = this.visits.cookie.read(response.req.headers.cookie);
        const redirect = await this.visits.returnedTo(linkIn(response.req), secret);
        if (redirect === undefined) throw error;
        return { redirect };
      });
    sendStep(response, step);
  }

  #sent({ req }: Response): Promise<Visit> {
    const secret = this.visits.cookie.read(req.headers.cookie);
    return this.visits.submit(
      linkIn(req),
      secret,
      (req.body as Fields | null | undefined)?.['csrf'],
    );
  }
}

/** The URL to which providers send browsers back. */
@ApiExcludeController()
@Public()
@UseFilters(PageFilter)
@Controller('connect/callback')
export class SignInCallbackController {
  constructor(
    private readonly visits: SignInVisits,
    private readonly oauth: SignInOauthService,
  ) {}

  @Get()
  async comeBack(@Res() response: Response): Promise<void> {
    const { searchParams } = new URL(response.req.originalUrl, 'http://localhost');
    const secret = this.visits.cookie.read(response.req.headers.cookie);
    sendStep(response, await this.oauth.comeBack(searchParams, secret));
  }
}
