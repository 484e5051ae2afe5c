import type { Sql } from '../../platform/database/sql.ts';
import type { Application } from './application.entity.ts';

/** What the operator sees of an application. */
export type ListedApplication = Pick<
  Application,
  | 'id'
  | 'clientId'
  | 'name'
  | 'plan'
  | 'features'
  | 'region'
  | 'contactEmail'
  | 'allowsTokenResponse'
  | 'allowedScopes'
  | 'tokenLifetime'
  | 'revokesOlderTokens'
  | 'createdAt'
>;

const ALL = `
  select id, client_id as "clientId", name, plan, features, region, contact_email as "contactEmail",
    allows_token_response as "allowsTokenResponse", allowed_scopes as "allowedScopes",
    token_lifetime as "tokenLifetime", revokes_older_tokens as "revokesOlderTokens",
    created_at as "createdAt"
  from application order by id`;

/**
 * Every application, oldest first. For the operator only, because it is not limited to one caller.
 */
export function listApplications(sql: Sql): Promise<ListedApplication[]> {
  return sql.query<ListedApplication>(ALL);
}
