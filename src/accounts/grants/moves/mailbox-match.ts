import type { EntityManager } from '@mikro-orm/postgresql';
import { type SecretBox, UnsealError } from '../../../platform/base/crypto/secret-box.ts';
import type { Connector, MailboxSettings } from '../../../providers/port/connector.ts';
import { keepProof } from '../proofs/address-proof-state.ts';
import type { VerifiedCredentials } from '../credentials/credentials.ts';
import { openGrantSettings, storeCredentials } from '../credentials/grant-secrets.ts';
import { Grant } from '../grant.entity.ts';
import { SubjectMismatchError } from '../grants.errors.ts';

/**
 * Key of the mailbox that the settings lead to; empty if an address has only one mailbox at this
 * provider.
 */
export function mailboxOf(connector: Connector, account: MailboxSettings): string {
  return connector.mailboxKey?.(account) ?? '';
}

/** The mailbox to find, and the address and application it must belong to. */
export interface WantedMailbox {
  applicationId: string;
  connector: Connector;
  email: string;
  mailbox: string;
}

/**
 * Finds the grant of a mailbox. A grant with the same address but another mailbox is another
 * account and is not returned. Writes nothing, because the caller must lock queue rows before
 * grants.
 * @returns `null` if this mailbox is not connected
 */
export async function findByMailbox(
  em: EntityManager,
  box: SecretBox,
  { applicationId, connector, email, mailbox }: WantedMailbox,
): Promise<Grant | null> {
  const where = { application: applicationId, provider: connector.name, email };
  const grants = await em.find(Grant, where, { orderBy: { id: 'asc' } });
  return (
    grants.find((grant) => (grant.mailbox ?? keyOf(grant, connector, box)) === mailbox) ?? null
  );
}

/**
 * Finds the account that accepted credentials authenticate: that of their mailbox, or that of the
 * same user under an earlier address. Writes nothing.
 * @param wanted.subject the user at the provider; `null` if it is not known
 * @returns `null` if there is none
 * @throws {SubjectMismatchError} if the account of the mailbox belongs to another user
 */
export async function findAccount(
  em: EntityManager,
  box: SecretBox,
  wanted: WantedMailbox & { subject: string | null },
): Promise<Grant | null> {
  const { applicationId, connector, email, subject } = wanted;
  const known = await findByMailbox(em, box, wanted);
  if (known?.subject && subject && known.subject !== subject)
    throw new SubjectMismatchError(email, connector.name);
  if (known || !subject) return known;
  const where = { application: applicationId, provider: connector.name, subject };
  return em.findOne(Grant, where, { orderBy: { id: 'asc' } });
}

/**
 * Stores accepted credentials in a grant, with their user, the key of their mailbox and its proof.
 * If the mailbox or its address has changed, the old proof is deleted.
 * @returns whether the address became proven or stopped being proven
 */
export function storeMailbox(
  box: SecretBox,
  grant: Grant,
  connector: Connector,
  { email, settings, tokens, proof, subject }: VerifiedCredentials,
  at: Date,
): boolean {
  const before = grant.proof ?? null;
  const mailbox = mailboxOf(connector, { email, settings });
  if (grant.mailbox !== mailbox || grant.email !== email) {
    grant.proof = null;
    grant.provenAt = null;
  }
  grant.mailbox = mailbox;
  grant.email = email;
  grant.subject = subject ?? grant.subject ?? null;
  storeCredentials(box, grant, { settings, ...(tokens ? { tokens } : {}) });
  keepProof(grant, proof ?? null, connector, at);
  return (before === null) !== (grant.proof === null);
}

/**
 * Mailbox key of a grant that was connected before mailbox keys existed. `null` if no key of this
 * process decrypts the settings; then a sign-in is treated as another account.
 */
function keyOf(
  { id, email, settingsSealed }: Pick<Grant, 'id' | 'email' | 'settingsSealed'>,
  connector: Connector,
  box: SecretBox,
): string | null {
  try {
    return mailboxOf(connector, { email, settings: openGrantSettings(box, id, settingsSealed) });
  } catch (error) {
    if (error instanceof UnsealError) return null;
    throw error;
  }
}
