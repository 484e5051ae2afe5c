import { currentActorFor } from '../../platform/audit/current-actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import type { Sql } from '../../platform/database/sql.ts';

/** What was done to an account, for the audit log. */
export interface AccountAction {
  /** Dotted name, such as `account.delete` or `token.create`. */
  action: string;
  applicationId: string;
  accountId: string;
  /** Id of the access token that the action concerns; absent if it concerns the account. */
  tokenId?: string;
  details?: Readonly<Record<string, unknown>>;
}

/** Records an action of the current caller on an account, in the caller's transaction. */
export function recordAccountAudit(
  sql: Sql,
  { action, applicationId, accountId, tokenId, details }: AccountAction,
): Promise<void> {
  const target =
    tokenId === undefined
      ? { type: 'account', id: accountId }
      : { type: 'access-token', id: tokenId };
  const actor = currentActorFor(applicationId);
  return recordAudit(sql, {
    actor,
    action,
    target,
    applicationId,
    accountId,
    ...(details ? { details } : {}),
  });
}
