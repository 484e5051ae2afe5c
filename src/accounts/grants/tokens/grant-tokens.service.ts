import { Injectable } from '@nestjs/common';
import type { Scope } from '../../../platform/auth/scopes.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import type { Page } from '../../../platform/database/listing.ts';
import { AccessTokensService, type ListedToken } from './access-tokens.service.ts';
import { GrantsService } from '../grants.service.ts';

/** A token as its application sees it. */
export interface ManagedToken extends ListedToken {
  state: 'valid' | 'revoked' | 'expired';
}

/** The settings of a new token. */
export interface WantedToken {
  /** If `null` or absent, the application's setting applies. */
  lifetimeSeconds?: number | null | undefined;
  /** `null` or absent for all scopes of the account. */
  scope?: readonly Scope[] | null | undefined;
  revokesOthers: boolean;
}

/**
 * Access tokens of an account, as its application manages them. Every method throws NotFoundError
 * for accounts of other applications.
 */
@Injectable()
export class GrantTokensService {
  constructor(
    private readonly grants: GrantsService,
    private readonly tokens: AccessTokensService,
    private readonly clock: Clock,
  ) {}

  /** Tokens of the account, oldest first. */
  async list(applicationId: string, grantId: string, page: Page): Promise<ManagedToken[]> {
    const { id } = await this.grants.get(applicationId, grantId);
    return (await this.tokens.list(applicationId, id, page)).map((token) => this.#managed(token));
  }

  /**
   * Creates a token. The returned value is the only place that ever shows it.
   * @throws {InvalidInputError} for scopes that the account does not have
   * @throws {ForbiddenError} for a cancelled account
   */
  async create(
    applicationId: string,
    grantId: string,
    { lifetimeSeconds, scope, revokesOthers }: WantedToken,
  ): Promise<{ made: ManagedToken; accessToken: string }> {
    const grant = await this.grants.get(applicationId, grantId);
    const { tokenLifetime } = await grant.application.loadOrFail();
    const options = { lifetimeSeconds: lifetimeSeconds ?? tokenLifetime ?? null, scope };
    const { id, token: accessToken } = await this.tokens.add(grant, options, revokesOthers);
    return { made: this.#managed(await this.tokens.get(applicationId, grantId, id)), accessToken };
  }

  /** @throws {NotFoundError} also for a token of another account */
  async revoke(applicationId: string, grantId: string, tokenId: string): Promise<void> {
    const { id } = await this.grants.get(applicationId, grantId);
    await this.tokens.revokeById(applicationId, id, tokenId);
  }

  /** Revokes every token of the account. @throws {NotFoundError} */
  async revokeAll(applicationId: string, grantId: string): Promise<void> {
    const { id } = await this.grants.get(applicationId, grantId);
    await this.tokens.revokeAll(applicationId, id);
  }

  #managed(token: ListedToken): ManagedToken {
    const isExpired = token.expiresAt !== null && token.expiresAt <= this.clock.now();
    return { ...token, state: token.revokedAt ? 'revoked' : isExpired ? 'expired' : 'valid' };
  }
}
