import { Inject, Injectable } from '@nestjs/common';
import { OauthClients } from '../../accounts/oauth/oauth-clients.ts';
import type { OauthRegistration } from '../../providers/port/sign-in/oauth-descriptor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import { SecretBox, UnsealError } from '../../platform/base/crypto/secret-box.ts';
import { ForbiddenError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { newId, randomBase36, SECRET_LENGTH } from '../../platform/base/ids/ids.ts';
import { storable } from '../../platform/base/text/storable.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import type { OperatorOidc } from '../../platform/config/sections/operator-config.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import {
  type NewSession,
  OperatorSessionsService,
  type ProvenOperator,
  type SigningIn,
} from './sessions/operator-sessions.service.ts';
import type { OperatorRole } from './operator-role.ts';
import { OidcRefusedError, OidcVisitError, OperatorDisabledError } from './operator.errors.ts';

/** A sign-in that the browser carries to the provider and back, sealed in a cookie. */
interface Visit {
  state: string;
  pkceVerifier: string;
  nonce: string;
  /** The page of the console to open afterwards. */
  to: string;
  /** Milliseconds since 1970. */
  endsAt: number;
}

/** Where to send the browser, and the cookie that it has to bring back. */
export interface OidcStart {
  url: string;
  /** Value of the cookie of `oidcCookie`. */
  cookie: string;
}

/** The user who signed in at the provider, as Carillon knows operators. */
interface Identity {
  subject: string;
  name: string;
  role: OperatorRole | null;
}

interface KnownOperator extends ProvenOperator {
  isDisabled: boolean;
}

const VISIT_MS = 10 * 60_000;
const SEALED_FOR = 'operator.oidc';
const LONGEST_NAME = 100;

const BY_SUBJECT = `
  select id, name, disabled_at is not null as "isDisabled"
  from operator where issuer = $1 and subject = $2 for update`;
const INSERT = `
  insert into operator (id, name, role, issuer, subject, created_at, updated_at)
  values ($1, $2, $3, $4, $5, $6, $6) on conflict (name) do nothing returning id, name`;
const SET_ROLE = 'update operator set role = $2, updated_at = $3 where id = $1 and role <> $2';
const REMOVE = 'delete from operator where id = $1';

/**
 * Sign-in of operators by OpenID Connect (`OPERATOR_OIDC_…`): code flow with PKCE, state and nonce.
 * The id token's claim gives the role, at each sign-in anew.
 */
@Injectable()
export class OperatorOidcService {
  readonly #settings: OperatorOidc | null;
  readonly #redirectUri: string;

  constructor(
    @Inject(APP_CONFIG) { operator }: AppConfig,
    private readonly clients: OauthClients,
    private readonly secretBox: SecretBox,
    private readonly sessions: OperatorSessionsService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    this.#settings = operator.oidc;
    this.#redirectUri = `${operator.url}/console/sign-in/callback`;
  }

  /** Whether operators can sign in this way. */
  get isOffered(): boolean {
    return this.#settings !== null;
  }

  /**
   * Begins a sign-in.
   * @param to the page of the console to open afterwards
   * @throws {NotFoundError} if OpenID Connect is not configured
   * @throws {OauthError} if the provider's metadata cannot be read
   */
  async begin(to: string): Promise<OidcStart> {
    const settings = this.#required();
    const state = randomBase36(SECRET_LENGTH);
    const { url, pkceVerifier, nonce } = await this.clients.authorizationUrl(
      registrationOf(settings),
      {
        redirectUri: this.#redirectUri,
        state,
        scopes: scopesOf(settings),
        loginHint: null,
        parameters: {},
      },
    );
    const endsAt = this.clock.now().getTime() + VISIT_MS;
    const visit: Visit = { state, pkceVerifier, nonce: nonce ?? '', to, endsAt };
    return { url, cookie: this.secretBox.seal(JSON.stringify(visit), SEALED_FOR) };
  }

  /**
   * Finishes a sign-in when the provider has sent the browser back.
   * @param parameters query of the redirect
   * @param cookie value of the cookie that `begin` returned
   * @returns the session, and the page to open
   * @throws {OidcVisitError} if the browser did not begin this sign-in, or more than ten minutes
   *   ago
   * @throws {OauthError} if the provider refused, or its response does not belong to this sign-in
   * @throws {OidcRefusedError} if the user has no role here
   * @throws {OperatorDisabledError}
   */
  async finish(
    parameters: URLSearchParams,
    cookie: string,
    browser: SigningIn,
  ): Promise<NewSession & { to: string }> {
    const settings = this.#required();
    const { state, pkceVerifier, nonce, to } = this.#visitOf(cookie);
    if (parameters.get('state') !== state) throw new OidcVisitError();
    const { claims } = await this.clients.exchange(registrationOf(settings), {
      parameters,
      redirectUri: this.#redirectUri,
      state,
      pkceVerifier,
      nonce,
      scopes: scopesOf(settings),
    });
    const identity = identityOf(settings, claims ?? {});
    const session = await this.database.transaction(async (sql) => {
      const operator = await this.#operatorOf(sql, settings.issuer, identity, browser);
      return operator && this.sessions.begin(sql, operator, 'oidc', browser);
    });
    // Thrown after the commit, which removes an operator who has lost the role.
    if (!session) throw new OidcRefusedError(identity.name);
    return { ...session, to };
  }

  async #operatorOf(
    sql: Sql,
    issuer: string,
    { subject, name, role }: Identity,
    { address }: SigningIn,
  ): Promise<ProvenOperator | null> {
    const now = this.clock.now();
    const [known] = await sql.query<KnownOperator>(BY_SUBJECT, [issuer, subject]);
    const record = (id: string, action: string) =>
      recordAudit(sql, {
        actor: { kind: 'operator', id, name, address: address || null },
        action,
        target: { type: 'operator', id },
        details: { name, role, issuer },
      });
    if (role === null) {
      if (!known) return null;
      await sql.query(REMOVE, [known.id]);
      await record(known.id, 'operator.remove');
      return null;
    }
    if (known) {
      if (known.isDisabled) throw new OperatorDisabledError(known.name);
      const changed = await sql.query(`${SET_ROLE} returning id`, [known.id, role, now]);
      if (changed.length > 0) await record(known.id, 'operator.set-role');
      return known;
    }
    const values = [newId(), name, role, issuer, subject, now];
    const [made] = await sql.query<ProvenOperator>(INSERT, values);
    if (!made)
      throw new ForbiddenError(
        'operator.name-taken',
        `There is already an operator ${name} who signs in in another way. Remove that one first: carillon operator remove ${name}`,
      );
    await record(made.id, 'operator.create');
    return made;
  }

  #visitOf(cookie: string): Visit {
    try {
      const visit = JSON.parse(this.secretBox.open(cookie, SEALED_FOR)) as Visit;
      if (visit.endsAt > this.clock.now().getTime()) return visit;
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
    }
    throw new OidcVisitError();
  }

  #required(): OperatorOidc {
    if (this.#settings) return this.#settings;
    throw new NotFoundError('sign-in by', 'OpenID Connect');
  }
}

const registrationOf = ({ issuer, clientId, clientSecret }: OperatorOidc): OauthRegistration => ({
  server: { issuer },
  clientId,
  authentication: { kind: 'secret', secret: clientSecret, method: null },
});

const scopesOf = ({ scopes }: OperatorOidc): string[] => [...new Set(['openid', ...scopes])];

/** Reads name and role from the claims of an id token. */
function identityOf(settings: OperatorOidc, claims: Readonly<Record<string, unknown>>): Identity {
  const text = (name: string) => (typeof claims[name] === 'string' ? claims[name] : '');
  const subject = text('sub');
  const name = text('email') || text('preferred_username') || subject;
  const isVerified = settings.claim !== 'email' || claims['email_verified'] === true;
  const values = new Set([claims[settings.claim]].flat());
  const roles = isVerified
    ? settings.roles.filter(({ value }) => values.has(value)).map(({ role }) => role)
    : [];
  return {
    subject,
    name: storable(name.trim().toLowerCase(), LONGEST_NAME),
    role: roles.includes('operate') ? 'operate' : (roles[0] ?? null),
  };
}
