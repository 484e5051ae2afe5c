import { Injectable } from '@nestjs/common';
import { hashToken, equalHashes } from '../common/crypto/token-hash.ts';
import { Database } from '../database/sql.ts';
import type { AccountPrincipal, ApplicationPrincipal } from './principal.ts';
import { restrict, type Scope } from './scopes.ts';

const ACCOUNT_BY_TOKEN = `
  select g.id as "accountId", g.application_id as "applicationId", a.client_id as "clientId", g.provider, g.email,
         g.name, g.organization_unit as "organizationUnit", g.status as "grantStatus",
         g.billing_state as "billingState", coalesce(g.scope, i.scope) as asked, g.granted_scope as agreed,
         a.features
  from access_token t
  join "grant" g on g.id = t.grant_id
  join application a on a.id = g.application_id
  left join integration i on i.id = g.integration_id
  where t.hash = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`;

const APPLICATION_BY_CLIENT_ID = `
  select id as "applicationId", client_id as "clientId", plan, region, features, secret_hash as "secretHash"
  from application where client_id = $1`;

type AccountRow = Omit<AccountPrincipal, 'kind' | 'scopes'> & {
  asked: Scope[] | null;
  agreed: Scope[] | null;
};

/** Turns what a caller presented into who it is; one indexed query each. */
@Injectable()
export class Credentials {
  constructor(private readonly database: Database) {}

  /** @returns undefined for an unknown, revoked or expired token */
  async accountByToken(token: string): Promise<AccountPrincipal | undefined> {
    if (token.length > 200) return undefined;
    const [row] = await this.database.query<AccountRow>(ACCOUNT_BY_TOKEN, [hashToken(token)]);
    if (!row) return undefined;
    const { asked, agreed, ...account } = row;
    return { kind: 'account', ...account, scopes: restrict(asked, agreed) };
  }

  /** @returns undefined unless the pair is right */
  async applicationBySecret(clientId: string, secret: string): Promise<ApplicationPrincipal | undefined> {
    if (clientId.includes('\0')) return undefined;
    const [row] = await this.database.query<Omit<ApplicationPrincipal, 'kind'> & { secretHash: Buffer }>(
      APPLICATION_BY_CLIENT_ID,
      [clientId],
    );
    if (!row || !equalHashes(row.secretHash, hashToken(secret))) return undefined;
    const { secretHash: _, ...application } = row;
    return { kind: 'application', ...application };
  }
}
