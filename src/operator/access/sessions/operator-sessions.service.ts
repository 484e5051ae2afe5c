import { Injectable } from '@nestjs/common';
import { recordAudit } from '../../../platform/audit/record-audit.ts';
import { FailedAttempts, WrongPasswordError } from '../../../platform/auth/failed-attempts.ts';
import { hashToken } from '../../../platform/base/crypto/token-hash.ts';
import { DomainError } from '../../../platform/base/errors/domain-error.ts';
import { newId, randomBase36, SECRET_LENGTH } from '../../../platform/base/ids/ids.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { Database, type Sql } from '../../../platform/database/sql.ts';
import { isPassword } from '../password-hash.ts';
import { OperatorDisabledError } from '../operator.errors.ts';
import { SESSION_MS } from './session-lifetime.ts';
import type { Operator } from '../operator.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/** A new session, for the cookie of `sessionCookie`. */
export interface NewSession {
  /** Value of the cookie; it is stored nowhere. */
  secret: string;
  operatorName: string;
  endsAt: Date;
}

/** The browser that signs in. */
export interface SigningIn {
  /** Network address of the client. */
  address: string;
  /** Value of the session's cookie that the browser sent; the empty string if none. */
  presented: string;
}

/** An operator whose identity is proven. */
export type ProvenOperator = RowOf<Operator, 'id' | 'name'>;

/** An operator whose password was right. */
export interface PasswordProof extends ProvenOperator {
  /** The stored text of the password that was checked. */
  passwordHash: string;
}

interface OperatorRow extends ProvenOperator, RowOf<Operator, 'passwordHash'> {
  isDisabled: boolean;
}

/** Password checks of one process at the same time; each takes 32 MB and a thread. */
const MOST_CHECKS = 2;

const WRONG = 'The name or the password is wrong.';

const BY_NAME = `
  select id, name, password_hash as "passwordHash", disabled_at is not null as "isDisabled"
  from operator where name = $1`;
/**
 * For so long, the browser that has used a link can use it again. A browser drops the response to
 * the first click of a double click, and with it the session.
 */
const DOUBLE_CLICK_SECONDS = 30;
const OPERATOR_OF_LINK = `
  select o.id, o.name from operator o
  where o.id = (select operator_id from operator_link where hash = $1) for no key update`;
const USE_LINK = `
  update operator_link l set used_by = $4, ends_at = case when l.used_by is null
      then least(l.ends_at, $2::timestamptz + interval '${DOUBLE_CLICK_SECONDS} s') else l.ends_at end
  from operator o
  where l.hash = $1 and l.operator_id = $3 and l.ends_at > $2 and (l.used_by is null or l.used_by = $4)
    and o.id = $3 and o.disabled_at is null
  returning o.id`;
/**
 * Locked as strongly as the update of `SIGNED_IN` needs: two sign-ins that share a weaker lock
 * would wait for each other.
 */
const SAME_PASSWORD = `
  select id from operator where id = $1 and password_hash = $2 and disabled_at is null
  for no key update`;
const INSERT_SESSION = `
  insert into operator_session (id, operator_id, hash, created_at, last_used_at, ends_at)
  values ($1, $2, $3, $4, $4, $5)`;
/**
 * A sign-in by a link does not count for an operator of OpenID Connect: the identity provider was
 * not asked (ADR 0141).
 */
const SIGNED_IN = `
  update operator set last_sign_in_at = $2 where id = $1 and (issuer is null or $3 = 'oidc')`;
const END_PRESENTED = 'delete from operator_session where hash = $1';
const END_ONE = 'delete from operator_session where id = $1 and operator_id = $2';

class TooManyChecksError extends DomainError {
  constructor() {
    super(
      'operator.too-many-checks',
      'rate-limited',
      'Too many sign-ins at the same time: try again in a few seconds',
      { limit: MOST_CHECKS, retryAfterSeconds: 3 },
    );
  }
}

/** The link is unknown, was used before, or is older than an hour. */
export class LinkEndedError extends DomainError {
  constructor() {
    super(
      'operator.link-ended',
      'unauthorized',
      'This sign-in link was used before or has expired. Create another one with: carillon operator link',
    );
  }
}

/** Sessions of operators in the console, and sign-ins by password or by a link that works once. */
@Injectable()
export class OperatorSessionsService {
  #checks = 0;

  constructor(
    private readonly database: Database,
    private readonly failures: FailedAttempts,
    private readonly clock: Clock,
  ) {}

  /**
   * Signs in by password. A session that the browser had before ends.
   * @throws {WrongPasswordError} the same for an unknown name, a wrong password, and an operator
   *   without a password
   * @throws {TooManyFailuresError} after ten wrong passwords of one client for one name within 15
   *   minutes
   * @throws {OperatorDisabledError} if the password is right
   */
  async signInByPassword(name: string, password: string, browser: SigningIn): Promise<NewSession> {
    return this.signInProven(await this.prove(name, password, browser), browser);
  }

  /**
   * Signs in an operator whose password was checked. A session that the browser had before ends.
   * @throws {WrongPasswordError} if the password was changed or removed since the check, or the
   *   operator was disabled or removed
   */
  async signInProven(proof: PasswordProof, browser: SigningIn): Promise<NewSession> {
    return this.database.transaction(async (sql) => {
      const [same] = await sql.query(SAME_PASSWORD, [proof.id, proof.passwordHash]);
      if (!same) throw new WrongPasswordError(WRONG);
      return this.begin(sql, proof, 'password', browser);
    });
  }

  /**
   * Checks a password without a sign-in, with the same limits and errors.
   * @returns the operator, and the stored password that was checked
   */
  prove(name: string, password: string, { address }: SigningIn): Promise<PasswordProof> {
    const asked = name.trim().toLowerCase();
    const attempt = { applicationId: 'operator', client: address, names: [asked] };
    return this.failures.run(attempt, () => this.#check(asked, password));
  }

  /**
   * Signs in by a link of `OperatorLinksService`. The link works once. The operator is locked
   * before the link, as a change of the operator does, so that the two cannot wait for each other.
   * @param visit secret of the browser: with the same one, the link works again for
   *   `DOUBLE_CLICK_SECONDS`
   * @throws {LinkEndedError}
   */
  async signInByLink(secret: string, browser: SigningIn, visit: string): Promise<NewSession> {
    return this.database.transaction(async (sql) => {
      const hash = hashToken(secret);
      const [operator] = await sql.query<ProvenOperator>(OPERATOR_OF_LINK, [hash]);
      if (!operator) throw new LinkEndedError();
      const values = [hash, this.clock.now(), operator.id, hashToken(visit)];
      const [used] = await sql.query(USE_LINK, values);
      if (!used) throw new LinkEndedError();
      return this.begin(sql, operator, 'link', browser);
    });
  }

  /** Ends a session of an operator. Does nothing if it has already ended. */
  async signOut(operatorId: string, sessionId: string): Promise<void> {
    await this.database.query(END_ONE, [sessionId, operatorId]);
  }

  /**
   * Begins a session for an operator whose identity is proven, in the caller's transaction. The
   * session has a new secret, whatever the browser presented: nobody can choose it beforehand.
   * @param by how the operator proved the identity, for the audit log
   */
  async begin(
    sql: Sql,
    operator: ProvenOperator,
    by: 'password' | 'link' | 'oidc',
    { address, presented }: SigningIn,
  ): Promise<NewSession> {
    const secret = randomBase36(SECRET_LENGTH);
    const id = newId();
    const now = this.clock.now();
    const endsAt = new Date(now.getTime() + SESSION_MS);
    if (presented) await sql.query(END_PRESENTED, [hashToken(presented)]);
    await sql.query(INSERT_SESSION, [id, operator.id, hashToken(secret), now, endsAt]);
    await sql.query(SIGNED_IN, [operator.id, now, by]);
    await recordAudit(sql, {
      actor: { kind: 'operator', id: operator.id, name: operator.name, address: address || null },
      action: 'operator.sign-in',
      target: { type: 'operator', id: operator.id },
      details: { by },
    });
    return { secret, operatorName: operator.name, endsAt };
  }

  async #check(name: string, password: string): Promise<PasswordProof> {
    if (this.#checks >= MOST_CHECKS) throw new TooManyChecksError();
    this.#checks += 1;
    try {
      const [operator] = name.includes('\0')
        ? []
        : await this.database.query<OperatorRow>(BY_NAME, [name]);
      const passwordHash = operator?.passwordHash ?? null;
      const isRight = await isPassword(password, passwordHash);
      if (!operator || passwordHash === null || !isRight) throw new WrongPasswordError(WRONG);
      if (operator.isDisabled) throw new OperatorDisabledError(operator.name);
      return { id: operator.id, name: operator.name, passwordHash };
    } finally {
      this.#checks -= 1;
    }
  }
}
