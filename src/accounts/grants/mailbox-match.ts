import type { EntityManager } from '@mikro-orm/postgresql';
import { type SecretBox, UnsealError } from '../../platform/base/crypto/secret-box.ts';
import type { Connector, MailboxSettings } from '../../providers/port/connector.ts';
import { keepProof } from './address-proof-state.ts';
import type { VerifiedCredentials } from './credentials.ts';
import { openGrantSettings, storeCredentials } from './grant-secrets.ts';
import { Grant } from './grant.entity.ts';

/** Key of the mailbox that settings open; empty where an address of the provider has one mailbox. */
export function mailboxOf(connector: Connector, account: MailboxSettings): string {
  return connector.mailboxKey?.(account) ?? '';
}

/** Which mailbox is looked for, under which address of which application. */
export interface WantedMailbox {
  applicationId: string;
  connector: Connector;
  email: string;
  mailbox: string;
}

/**
 * The grant of a mailbox. A grant of the same address with another mailbox is another account, and not found. Writes nothing:
 * the caller locks queue rows before it locks grants.
 * @returns null: this mailbox is not connected
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
 * Puts accepted credentials into a grant, with the key of their mailbox and what proves it. A proof of another mailbox than
 * theirs is gone.
 * @returns whether the address has become proven, or is not proven any more
 */
export function storeMailbox(
  box: SecretBox,
  grant: Grant,
  connector: Connector,
  { email, settings, tokens, proof }: VerifiedCredentials,
  at: Date,
): boolean {
  const before = grant.proof ?? null;
  const mailbox = mailboxOf(connector, { email, settings });
  if (grant.mailbox !== mailbox) {
    grant.proof = null;
    grant.provenAt = null;
  }
  grant.mailbox = mailbox;
  storeCredentials(box, grant, { settings, ...(tokens ? { tokens } : {}) });
  keepProof(grant, proof ?? null, connector, at);
  return (before === null) !== (grant.proof === null);
}

/**
 * Key of a grant that was connected before there were keys; null when no key opens its settings: whoever signs in then is
 * somebody else.
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
