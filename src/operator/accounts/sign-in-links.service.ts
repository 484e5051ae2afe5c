import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import { ConflictError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import { Database } from '../../platform/database/sql.ts';
import { LoginStartsService } from '../../accounts/connect/links/login-starts.service.ts';
import type { Grant } from '../../accounts/grants/grant.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** A link with which the user of an account authenticates again. */
export interface SignInLink {
  accountId: string;
  email: string;
  /** Send it to the user only. */
  url: string;
  expiresAt: Date;
}

/** Default and longest lifetime of a link, in seconds. */
export const SIGN_IN_LINK_SECONDS = 1_800;
export const LONGEST_SIGN_IN_LINK_SECONDS = 86_400;

const ACCOUNT = `
  select g.email, g.provider, g.application_id as "applicationId", a.suspended_at is not null as suspended,
    a.redirect_uris || coalesce(i.redirect_uris, '{}') as "redirectUris"
  from "grant" g join application a on a.id = g.application_id left join integration i on i.id = g.integration_id
  where g.id = $1`;

interface Account extends RowOf<Grant, 'email' | 'provider' | 'applicationId'> {
  suspended: boolean;
  redirectUris: string[];
}

/** Makes links to the hosted sign-in, with which users repair their accounts. */
@Injectable()
export class SignInLinksService {
  constructor(
    private readonly database: Database,
    private readonly starts: LoginStartsService,
  ) {}

  /**
   * Makes a link for one account. The sign-in must result in this account; its address is filled
   * in. At the end the browser goes to the application's first redirect address. Without one, our
   * own page says that the user is signed in.
   * @param seconds lifetime; default: 30 minutes
   * @throws {NotFoundError}
   * @throws {ConflictError} if the application is suspended
   * @throws errors of `LoginStartsService.connect`
   */
  async create(
    actor: Actor,
    accountId: string,
    seconds = SIGN_IN_LINK_SECONDS,
  ): Promise<SignInLink> {
    const [account] = isId(accountId)
      ? await this.database.query<Account>(ACCOUNT, [accountId])
      : [];
    if (!account) throw new NotFoundError('account', accountId);
    const { email, applicationId, suspended, redirectUris } = account;
    const [redirectUri = null] = redirectUris;
    if (suspended)
      throw new ConflictError(
        'application.suspended',
        'The application of this account is suspended: resume it first.',
      );
    const { request, url } = await this.starts.connect(
      applicationId,
      {
        provider: null,
        redirectUri,
        grantId: accountId,
        grantField: 'account_id',
        loginHint: email,
        clientState: null,
        expiresIn: seconds,
        settings: null,
        metadata: null,
        scope: null,
      },
      () => undefined,
    );
    await recordAudit(this.database, {
      actor,
      action: 'account.sign-in-link',
      target: { type: 'account', id: accountId },
      applicationId,
      accountId,
      details: { email, seconds },
    });
    return { accountId, email, url, expiresAt: request.expiresAt };
  }
}
