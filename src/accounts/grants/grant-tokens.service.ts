import { Injectable } from '@nestjs/common';
import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { AccessTokens, type ListedToken } from './access-tokens.service.ts';
import type {
  AccessTokenListView,
  AccessTokenView,
  CreateToken,
  ListTokens,
  NewAccessTokenEnvelope,
} from './grant-tokens.schema.ts';
import { GrantsService } from './grants.service.ts';

/** Access tokens of an account as its application manages them. Every method throws NotFoundError for accounts of others. */
@Injectable()
export class GrantTokens {
  constructor(
    private readonly grants: GrantsService,
    private readonly tokens: AccessTokens,
    private readonly clock: Clock,
  ) {}

  /** Oldest first. */
  async list(applicationId: string, grantId: string, page: ListTokens): Promise<AccessTokenListView> {
    const { id } = await this.grants.get(applicationId, grantId);
    const tokens = await this.tokens.list(applicationId, id, page);
    return { data: tokens.map((token) => this.#view(token)), limit: page.limit, offset: page.offset };
  }

  /**
   * Makes a token; the answer is the only place that ever shows it.
   * @throws {InvalidInputError} for scopes the account does not have
   * @throws {ForbiddenError} for an account that has been cancelled
   */
  async create(applicationId: string, grantId: string, body: CreateToken): Promise<NewAccessTokenEnvelope> {
    const grant = await this.grants.get(applicationId, grantId);
    const { tokenLifetime } = await grant.application.loadOrFail();
    const options = { lifetimeSeconds: body.expires_in ?? tokenLifetime ?? null, scope: body.scope };
    const { id, token } = await this.tokens.add(grant, options, body.revoke_other_tokens === true);
    const made = await this.tokens.get(applicationId, grantId, id);
    return { success: true, data: { ...this.#view(made), access_token: token } };
  }

  /** @throws {NotFoundError} also for a token of another account */
  async revoke(applicationId: string, grantId: string, tokenId: string): Promise<void> {
    const { id } = await this.grants.get(applicationId, grantId);
    await this.tokens.revokeById(applicationId, id, tokenId);
  }

  #view({ id, scopes, createdAt, lastUsedAt, expiresAt, revokedAt }: ListedToken): AccessTokenView {
    const isExpired = expiresAt !== null && expiresAt <= this.clock.now();
    const seconds = (at: Date | null) => at && toUnixSeconds(at);
    return {
      id,
      state: revokedAt ? 'revoked' : isExpired ? 'expired' : 'valid',
      scope: [...scopes],
      created_at: toUnixSeconds(createdAt),
      last_used_at: seconds(lastUsedAt),
      expires_at: seconds(expiresAt),
      revoked_at: seconds(revokedAt),
    };
  }
}
