import { Injectable } from '@nestjs/common';
import { Database } from '../database/sql.ts';
import type { SenderStatus } from '../providers/relay.ts';

/** Which account, of which application: every look-up names both. */
export interface AccountKey {
  accountId: string;
  applicationId: string;
}

/** The mailing service of an application, with what it said last about one account. */
export interface RelayOfAccount {
  kind: string;
  settingsSealed: string;
  /** Whether it takes mail from the account. */
  confirmed: boolean;
}

const FIND = `
  select r.kind, r.settings_sealed as "settingsSealed",
    coalesce(s.domain_verified or s.sender_verified, false) as confirmed
  from relay r
  join "grant" g on g.application_id = r.application_id and g.id = $2
  left join relay_sender s on s.account_id = g.id
  where r.application_id = $1`;

/*
 * What is written about a sender belongs to one version of the settings: the relay's row is share-locked and compared, so
 * that whoever replaces it either sees the row and removes it, or makes this write nothing. Sealing has a nonce: equal
 * sealed texts are the same version.
 */

const CLAIM = `
  insert into relay_sender as s (account_id, domain_verified, sender_verified, detail, checked_at)
  select g.id, false, false, null, $4::timestamptz
  from relay r join "grant" g on g.application_id = r.application_id and g.id = $2
  where r.application_id = $1 and r.settings_sealed = $3
  for share of r for key share of g
  on conflict (account_id) do update set checked_at = excluded.checked_at
  where not (s.domain_verified or s.sender_verified) and s.checked_at <= $5
  returning 1`;

const RECORD = `
  insert into relay_sender as s (account_id, domain_verified, sender_verified, detail, checked_at)
  select g.id, $5::boolean, $6::boolean, $7::text, $4::timestamptz
  from relay r join "grant" g on g.application_id = r.application_id and g.id = $2
  where r.application_id = $1 and r.settings_sealed = $3
  for share of r for key share of g
  on conflict (account_id) do update set domain_verified = excluded.domain_verified,
    sender_verified = excluded.sender_verified, detail = excluded.detail, checked_at = excluded.checked_at
  returning 1`;

/** What is known about mailing services and the accounts they take mail from. */
@Injectable()
export class RelayRepository {
  constructor(private readonly database: Database) {}

  /** @returns undefined: the application has none, or the account is not its own */
  async find({ applicationId, accountId }: AccountKey): Promise<RelayOfAccount | undefined> {
    const [row] = await this.database.query<RelayOfAccount>(FIND, [applicationId, accountId]);
    return row;
  }

  /**
   * Makes the caller the one who asks the service about an account that is not confirmed.
   * @param before somebody who asked later than this spares the caller the question
   */
  async claimCheck(
    { applicationId, accountId }: AccountKey,
    settingsSealed: string,
    now: Date,
    before: Date,
  ): Promise<boolean> {
    const values = [applicationId, accountId, settingsSealed, now, before];
    return (await this.database.query(CLAIM, values)).length > 0;
  }

  /** Keeps what the service said; nothing is kept once the settings it was asked with, or the account, are gone. */
  async record(
    { applicationId, accountId }: AccountKey,
    settingsSealed: string,
    { domainVerified, senderVerified, detail }: SenderStatus,
    now: Date,
  ): Promise<void> {
    const said = [domainVerified, senderVerified, detail?.slice(0, 1000) ?? null];
    await this.database.query(RECORD, [applicationId, accountId, settingsSealed, now, ...said]);
  }
}
