import { Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import { Application } from '../../applications/application.entity.ts';
import type { Scope } from '../../../platform/auth/scopes.ts';
import { SecretBox } from '../../../platform/base/crypto/secret-box.ts';
import { hashToken } from '../../../platform/base/crypto/token-hash.ts';
import { newId, randomBase36 } from '../../../platform/base/ids/ids.ts';
import { sourcesOf } from '../../../platform/base/state/transitions.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { sqlOf } from '../../../platform/database/orm-transactions.ts';
import { Database, type Sql } from '../../../platform/database/sql.ts';
import type { VerifiedCredentials } from '../../grants/credentials/credentials.ts';
import type { GrantMetadata } from '../../grants/grants.service.ts';
import { LoginRequest } from './login-request.entity.ts';
import { loginPendingContext, loginSettingsContext } from '../oauth/sealed-contexts.ts';
import {
  LOGIN_REQUEST_TRANSITIONS,
  type LoginFlow,
  type LoginRequestState,
  type ResponseType,
} from './login-request-state.ts';

/** The values of a new login request. */
export interface NewLoginRequest {
  flow: LoginFlow;
  /** `null` if the user chooses. */
  provider: string | null;
  redirectUri: string;
  responseType: ResponseType;
  redirectOnError: boolean;
  clientState: string | null;
  scope: readonly Scope[] | null;
  metadata: GrantMetadata | null;
  loginHint: string | null;
  grantId: string | null;
  settings: Readonly<Record<string, unknown>> | null;
  /** Lifetime in seconds. */
  expiresIn: number;
}

/** State that is stored while the user is at the OAuth provider. */
export interface AtProvider {
  provider: string;
  /** The secret of the link, which leads back to the sign-in pages. */
  link: string;
  pkceVerifier: string;
  nonce: string | null;
  /** The provider's scopes that the user is asked for. */
  scopes: readonly string[];
  /** Whether the user was sent again, to be asked for consent. */
  again: boolean;
}

/** Stored when a sign-in ends by sending the browser back to the application. */
interface Returned {
  returnedTo: string;
}

/** The result of looking up a link. */
export type FoundLogin =
  | { is: 'usable'; request: LoginRequest; application: Application }
  | { is: 'unknown' | 'used' | 'expired' };

const hasEnded = ({ state }: LoginRequest): boolean =>
  LOGIN_REQUEST_TRANSITIONS[state].length === 0;

const LINK_LENGTH = 40;
/** Number of attempts with refused credentials that one link allows. */
const MOST_REFUSED = 10;
/** How long a browser that sends its last form again gets the same response. */
export const ANSWERED_AGAIN_MS = 60_000;

const MOVE = `
  update login_request
  set state = $2, pending_sealed = $3, browser_hash = $4, oauth_state_hash = $5, reason = $6, updated_at = $7
  where id = $1 and state = any($8) and expires_at > $7 and ($9::bytea is null or browser_hash = $9)
  returning 1`;

/** Values that a transition sets; absent values become `null`. */
interface Moved {
  pending?: unknown;
  browser?: Buffer;
  oauthState?: string;
  reason?: string;
  /** If set, the transition applies only for this browser. */
  only?: Buffer;
}

/**
 * Login requests. Every transition is a compare-and-set, so only one of several concurrent
 * transitions succeeds.
 */
@Injectable()
export class LoginRequests {
  constructor(
    private readonly em: EntityManager,
    private readonly database: Database,
    private readonly secretBox: SecretBox,
    private readonly clock: Clock,
  ) {}

  /** @returns the request and the secret of its link; the secret cannot be read again */
  create(
    applicationId: string,
    asked: NewLoginRequest,
  ): Promise<{ request: LoginRequest; link: string }> {
    const { scope, settings, expiresIn, ...columns } = asked;
    return this.em.transactional(async (em) => {
      const id = newId();
      const link = randomBase36(LINK_LENGTH);
      const now = this.clock.now();
      const request = em.create(LoginRequest, {
        id,
        application: em.getReference(Application, applicationId),
        hash: hashToken(link),
        state: 'open',
        ...columns,
        scope: scope && [...scope],
        settingsSealed: settings && this.secretBox.sealJson(settings, loginSettingsContext(id)),
        expiresAt: new Date(now.getTime() + expiresIn * 1000),
        createdAt: now,
        updatedAt: now,
      });
      await em.flush();
      return { request, link };
    });
  }

  /** Looks up a link by its secret. */
  async find(link: string): Promise<FoundLogin> {
    if (link.length !== LINK_LENGTH) return { is: 'unknown' };
    const em = this.em.fork();
    const request = await em.findOne(LoginRequest, { hash: hashToken(link) });
    if (!request) return { is: 'unknown' };
    if (hasEnded(request)) return { is: 'used' };
    if (request.expiresAt <= this.clock.now()) return { is: 'expired' };
    const application = await em.findOneOrFail(Application, { id: request.application.id });
    return { is: 'usable', request, application };
  }

  /**
   * The provider settings that the application has given.
   * @throws {UnsealError}
   */
  settingsOf({ id, settingsSealed }: LoginRequest): Record<string, unknown> {
    return settingsSealed === null || settingsSealed === undefined
      ? {}
      : (this.secretBox.openJson(settingsSealed, loginSettingsContext(id)) as Record<
          string,
          unknown
        >);
  }

  /**
   * The account that the provider has accepted in this browser, and that the user has not agreed to
   * connect yet.
   * @returns `undefined` if no account was accepted, or if it was accepted in another browser
   * @throws {UnsealError}
   */
  authenticatedIn(request: LoginRequest, browser: Buffer): VerifiedCredentials | undefined {
    const { id, state, pendingSealed, browserHash } = request;
    if (state !== 'authenticated' || !pendingSealed || !browserHash) return undefined;
    if (!browser.equals(Buffer.from(browserHash))) return undefined;
    return this.secretBox.openJson(pendingSealed, loginPendingContext(id)) as VerifiedCredentials;
  }

  /**
   * Records that the provider has accepted an account.
   * @returns `false` if the request has ended in the meantime
   */
  authenticate(id: string, browser: Buffer, credentials: VerifiedCredentials): Promise<boolean> {
    return this.#move(this.database, id, 'authenticated', { pending: credentials, browser });
  }

  /**
   * Records that the user goes to the provider. An earlier visit to a provider can no longer
   * return.
   * @returns `false` if the request has ended in the meantime
   */
  leave(id: string, browser: Buffer, oauthState: string, pending: AtProvider): Promise<boolean> {
    return this.#move(this.database, id, 'open', { pending, browser, oauthState });
  }

  /**
   * Records that the user has returned from the provider in the same browser. Each `state` is
   * accepted once.
   * @returns `undefined` if the state is unknown, belongs to another browser, or the request has
   *   ended
   * @throws {UnsealError}
   */
  async comeBack(
    oauthState: string,
    browser: Buffer,
  ): Promise<{ id: string; pending: AtProvider } | undefined> {
    const [row] = await this.database.query<{ id: string; sealed: string }>(
      `update login_request r set oauth_state_hash = null, pending_sealed = null, updated_at = $3
       from (select id, pending_sealed from login_request
             where oauth_state_hash = $1 and browser_hash = $2 and state = 'open' and expires_at > $3
             for update) was
       where r.id = was.id returning r.id, was.pending_sealed as sealed`,
      [hashToken(oauthState), browser, this.clock.now()],
    );
    return (
      row && {
        id: row.id,
        pending: this.secretBox.openJson(row.sealed, loginPendingContext(row.id)) as AtProvider,
      }
    );
  }

  /**
   * Uses the request up, in the caller's transaction.
   * @param connect connects the account and returns the address to which the browser is sent. Runs
   *   only if no other transaction has ended the request
   * @returns the address; `undefined` if the request belongs to another browser or has ended
   */
  async finish(
    em: EntityManager,
    id: string,
    browser: Buffer,
    connect: () => Promise<string>,
  ): Promise<string | undefined> {
    const sql = sqlOf(em);
    if (!(await this.#move(sql, id, 'finished', { browser, only: browser }))) return undefined;
    const returnedTo = await connect();
    await sql.query('update login_request set pending_sealed = $2 where id = $1', [
      id,
      this.#sealed(id, { returnedTo } satisfies Returned),
    ]);
    return returnedTo;
  }

  /**
   * Ends the request without an account.
   * @param browser the browser that ended it
   * @param returnedTo the address to which the browser is sent; `null` if it is shown a page
   * @returns `false` if the request had already ended
   */
  end(
    id: string,
    state: 'failed' | 'cancelled',
    reason: string,
    browser: Buffer,
    returnedTo: string | null,
  ): Promise<boolean> {
    const pending = returnedTo === null ? undefined : ({ returnedTo } satisfies Returned);
    return this.#move(this.database, id, state, { reason, browser, pending });
  }

  /**
   * The address to which a browser was sent at the end of a sign-in. A button that is pressed twice
   * sends its form twice, and browsers show only the second response.
   * @returns `undefined` if the request has not ended, ended in another browser, more than a minute
   *   ago or with a page
   * @throws {UnsealError}
   */
  async returnedTo(link: string, browser: Buffer): Promise<string | undefined> {
    const request = await this.em.fork().findOne(LoginRequest, {
      hash: hashToken(link),
      browserHash: browser,
      updatedAt: { $gt: new Date(this.clock.now().getTime() - ANSWERED_AGAIN_MS) },
    });
    if (!request?.pendingSealed || !hasEnded(request)) return undefined;
    const { id, pendingSealed } = request;
    return (this.secretBox.openJson(pendingSealed, loginPendingContext(id)) as Returned).returnedTo;
  }

  /**
   * Counts an attempt with credentials, before it is made.
   * @returns `false` if there were too many attempts
   */
  async countAttempt(id: string): Promise<boolean> {
    const rows = await this.database.query(
      'update login_request set refusals = refusals + 1 where id = $1 and refusals < $2 returning 1',
      [id, MOST_REFUSED],
    );
    return rows.length > 0;
  }

  /** Removes an attempt from the count, because the credentials were not refused. */
  async uncountAttempt(id: string): Promise<void> {
    await this.database.query(
      'update login_request set refusals = greatest(refusals - 1, 0) where id = $1',
      [id],
    );
  }

  async #move(sql: Sql, id: string, to: LoginRequestState, moved: Moved): Promise<boolean> {
    const { pending, browser, oauthState, reason, only } = moved;
    const rows = await sql.query(MOVE, [
      id,
      to,
      pending === undefined ? null : this.#sealed(id, pending),
      browser ?? null,
      oauthState === undefined ? null : hashToken(oauthState),
      reason ?? null,
      this.clock.now(),
      sourcesOf(LOGIN_REQUEST_TRANSITIONS, to),
      only ?? null,
    ]);
    return rows.length > 0;
  }

  #sealed(id: string, pending: unknown): string {
    return this.secretBox.sealJson(pending, loginPendingContext(id));
  }
}
