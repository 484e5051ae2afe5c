import type { Database, Sql } from '../../../platform/database/sql.ts';
import { recordChanges } from '../../../platform/changes/change-log.ts';
import type { AddressProof } from '../../../providers/port/sign-in/address-proof.ts';
import type { Connector } from '../../../providers/port/connector.ts';
import { accountChange } from '../account-change.ts';
import type { Grant } from '../grant.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/**
 * Stores what a sign-in to the grant's own mailbox has proved. A sign-in without a proof keeps an
 * earlier proof. Without any proof the server continues to look for one.
 */
export function keepProof(
  grant: Grant,
  proof: AddressProof | null,
  connector: Connector,
  at: Date,
): void {
  if (proof && !grant.proof) grant.provenAt = at;
  grant.proof = proof ?? grant.proof ?? null;
  grant.proveAt = grant.proof || !connector.prove ? null : at;
  grant.proveFailures = 0;
}

/** A proof that was found for the settings of a grant. */
export interface FoundProof {
  id: string;
  /** The settings that were checked. The proof is stored only if the grant still has them. */
  settingsSealed: string;
  proof: AddressProof;
}

const RECORD = `
  update "grant" set proof = $3, proven_at = $4, prove_at = null, prove_failures = 0, updated_at = $4
  where id = $1 and settings_sealed = $2 and proof is null
  returning id as "accountId", application_id as "applicationId"`;

/** Stores a proof that was found after the sign-in, and notifies subscribers. */
export function recordProof(
  database: Pick<Database, 'transaction'>,
  { id, settingsSealed, proof }: FoundProof,
  at: Date,
): Promise<void> {
  return database.transaction(async (sql) => {
    const [account] = await sql.query<RowOf<Grant, 'applicationId'> & { accountId: string }>(
      RECORD,
      [id, settingsSealed, proof, at],
    );
    if (account) await recordChanges(sql, [proofChange(account, proof, at)]);
  });
}

/** Notifies subscribers of the grant's current proof. */
export function notifyProofChange(
  sql: Sql,
  { id, proof, updatedAt }: Grant,
  applicationId: string,
): Promise<void> {
  return recordChanges(sql, [
    proofChange({ applicationId, accountId: id }, proof ?? null, updatedAt),
  ]);
}

/**
 * The notification of `account.proof_changed`.
 * @param proof `null` if the address is no longer proven
 */
function proofChange(
  account: { applicationId: string; accountId: string },
  proof: AddressProof | null,
  at: Date,
) {
  const attributes = { address_proven: proof !== null, proof };
  return accountChange({ ...account, at }, 'modify', 'account.proof_changed', attributes);
}
