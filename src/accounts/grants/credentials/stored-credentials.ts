import { Inject, Injectable } from '@nestjs/common';
import { hashToken, equalHashes } from '../../../platform/base/crypto/token-hash.ts';
import { JointLookUp } from '../../../platform/base/concurrency/joint-look-up.ts';
import { Database, type Sql } from '../../../platform/database/sql.ts';
import { Credentials } from '../../../platform/auth/credentials.ts';
import type { AccountPrincipal, ApplicationPrincipal } from '../../../platform/auth/principal.ts';
import { restrict, type Scope } from '../../../platform/auth/scopes.ts';
import { ApplicationSuspendedError } from '../../../platform/auth/application-suspended-error.ts';
import { TokenUses } from '../tokens/token-uses.ts';
import type { Application } from '../../applications/application.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

const ACCOUNT = `
  g.id as "accountId", g.application_id as "applicationId", a.client_id as "clientId", g.provider, g.email,
  g.name, g.organization_unit as "organizationUnit", g.status as "grantStatus",
  g.billing_state as "billingState", coalesce(g.scope, i.scope) as asked, g.granted_scope as agreed,
  a.features, a.suspended_at is not null as suspended, coalesce(i.require_proven_address, false) and g.proof is null as unproven`;

/** @param which condition on the hash of the token */
const accountsBy = (which: string) => `
  select t.hash, t.id as "tokenId", t.scope as own, ${ACCOUNT}
  from access_token t
  join "grant" g on g.id = t.grant_id
  join application a on a.id = g.application_id
  left join integration i on i.id = g.integration_id
  where ${which} and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`;

const ACCOUNT_BY_TOKEN = accountsBy('t.hash = $1');
// The subquery hides the number of tokens from the planner. Otherwise PostgreSQL would plan the
// statement for each request, which costs three times as much as running it. For a single token it
// would take twice as long as the condition above.
const ACCOUNTS_BY_TOKENS = accountsBy('t.hash = any(array(select unnest($1::bytea[])))');

const APPLICATION_BY_CLIENT_ID = `
  select id as "applicationId", client_id as "clientId", plan, region, features, secret_hash as "secretHash",
    case when previous_secret_until > now() then previous_secret_hash end as "previousSecretHash",
    suspended_at is not null as suspended
  from application where client_id = $1`;

type AccountRow = Omit<AccountPrincipal, 'kind' | 'scopes'> & {
  hash: Buffer;
  suspended: boolean;
  own: Scope[] | null;
  asked: Scope[] | null;
  agreed: Scope[] | null;
};

interface FoundAccount {
  account: AccountPrincipal;
  /** Whether its application is suspended. */
  suspended: boolean;
}

const ACCOUNT_BY_ID = `
  select '' as "tokenId", ${ACCOUNT}
  from "grant" g join application a on a.id = g.application_id left join integration i on i.id = g.integration_id
  where g.id = $1`;

/**
 * What an account may see, for work without a request: as with a token of all its scopes.
 * @returns `undefined` if every request of the account would be refused
 */
export async function accountPrincipal(
  sql: Sql,
  accountId: string,
): Promise<AccountPrincipal | undefined> {
  const [row] = await sql.query<Omit<AccountRow, 'hash' | 'own'>>(ACCOUNT_BY_ID, [accountId]);
  if (!row) return undefined;
  const { suspended, asked, agreed, ...account } = row;
  const isRefused = suspended || account.unproven || account.billingState === 'cancelled';
  return isRefused ? undefined : { kind: 'account', ...account, scopes: restrict(asked, agreed) };
}

interface SecretHashes extends RowOf<Application, 'secretHash'> {
  /** Hash of the secret before the last rotation while it is still valid; otherwise `null`. */
  previousSecretHash: Buffer | null;
}

function isSecretOf({ secretHash, previousSecretHash }: SecretHashes, secret: string): boolean {
  const hash = hashToken(secret);
  // Both are compared, whichever is right.
  const isPrevious = previousSecretHash !== null && equalHashes(previousSecretHash, hash);
  return equalHashes(secretHash, hash) || isPrevious;
}

/** Encoding of a token's hash as a map key. */
const KEY = 'base64';

/**
 * Credentials from the account tables. Tokens of concurrent requests are looked up in one query.
 */
@Injectable()
export class StoredCredentials extends Credentials {
  readonly #accounts: JointLookUp<FoundAccount>;

  constructor(
    private readonly database: Database,
    @Inject(TokenUses) private readonly uses: Pick<TokenUses, 'note'>,
  ) {
    super();
    this.#accounts = new JointLookUp((keys) => this.#findAccounts(keys));
  }

  override async accountByToken(token: string): Promise<AccountPrincipal | undefined> {
    if (token.length > 200) return undefined;
    const found = await this.#accounts.get(hashToken(token).toString(KEY));
    if (found?.suspended) throw new ApplicationSuspendedError();
    if (found) this.uses.note(found.account.tokenId);
    return found?.account;
  }

  async #findAccounts(keys: readonly string[]): Promise<ReadonlyMap<string, FoundAccount>> {
    const hashes = keys.map((key) => Buffer.from(key, KEY));
    const rows = await (hashes.length === 1
      ? this.database.query<AccountRow>(ACCOUNT_BY_TOKEN, hashes)
      : this.database.query<AccountRow>(ACCOUNTS_BY_TOKENS, [hashes]));
    return new Map(
      rows.map(({ hash, suspended, own, asked, agreed, ...account }) => {
        const scopes = restrict(restrict(asked, agreed), own);
        return [
          hash.toString(KEY),
          {
            suspended,
            account: Object.freeze({ kind: 'account', ...account, scopes } as const),
          },
        ];
      }),
    );
  }

  override async applicationBySecret(
    clientId: string,
    secret: string,
  ): Promise<ApplicationPrincipal | undefined> {
    if (clientId.includes('\0')) return undefined;
    const [row] = await this.database.query<
      Omit<ApplicationPrincipal, 'kind'> & SecretHashes & { suspended: boolean }
    >(APPLICATION_BY_CLIENT_ID, [clientId]);
    if (!row || !isSecretOf(row, secret)) return undefined;
    const { secretHash: _, previousSecretHash: __, suspended, ...application } = row;
    if (suspended) throw new ApplicationSuspendedError();
    return { kind: 'application', ...application };
  }
}
