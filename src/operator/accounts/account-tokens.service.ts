import { Injectable } from '@nestjs/common';
import {
  GrantTokensService,
  type ManagedToken,
  type WantedToken,
} from '../../accounts/grants/tokens/grant-tokens.service.ts';
import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import { Database } from '../../platform/database/sql.ts';
import type { Grant } from '../../accounts/grants/grant.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** More than an account has in practice. */
const MOST_TOKENS = 1_000;

const APPLICATION = 'select application_id as "applicationId" from "grant" where id = $1';

/**
 * Access tokens of any account, for operators. Every method throws NotFoundError for an unknown
 * account. The owner of the tokens records each change in the audit log.
 */
@Injectable()
export class AccountTokensService {
  constructor(
    private readonly database: Database,
    private readonly tokens: GrantTokensService,
  ) {}

  /** Tokens of the account, oldest first, without the tokens themselves. */
  async list(accountId: string): Promise<ManagedToken[]> {
    const applicationId = await this.#applicationOf(accountId);
    return this.tokens.list(applicationId, accountId, { limit: MOST_TOKENS, offset: 0 });
  }

  /**
   * Creates a token. The returned value is the only place that ever shows it.
   * @throws {InvalidInputError} for scopes that the account does not have
   * @throws {ForbiddenError} for a cancelled account
   */
  async create(
    accountId: string,
    wanted: WantedToken,
  ): Promise<{ made: ManagedToken; accessToken: string }> {
    return this.tokens.create(await this.#applicationOf(accountId), accountId, wanted);
  }

  /** @throws {NotFoundError} also for a token of another account */
  async revoke(accountId: string, tokenId: string): Promise<void> {
    await this.tokens.revoke(await this.#applicationOf(accountId), accountId, tokenId);
  }

  /** Revokes every token of the account. */
  async revokeAll(accountId: string): Promise<void> {
    await this.tokens.revokeAll(await this.#applicationOf(accountId), accountId);
  }

  async #applicationOf(accountId: string): Promise<string> {
    const [row] = isId(accountId)
      ? await this.database.query<RowOf<Grant, 'applicationId'>>(APPLICATION, [accountId])
      : [];
    if (!row) throw new NotFoundError('account', accountId);
    return row.applicationId;
  }
}
