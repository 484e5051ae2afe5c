import { recordAudit } from '../../platform/audit/record-audit.ts';
import { Injectable } from '@nestjs/common';
import type { AccountListener } from '../../accounts/grants/account-listeners.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { isBreakerStopped } from '../../platform/work/gates/rate-gates.ts';
import { storable } from '../../platform/base/text/storable.ts';
import type { SenderStatus } from '../../providers/port/mail/relay.ts';
import { RelayListeners } from './relay-listeners.ts';
import type { Relay } from './relay.entity.ts';
import type { Grant } from '../../accounts/grants/grant.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** An account and its application: every query names both. */
export interface AccountKey {
  accountId: string;
  applicationId: string;
}

/** The mailing service of an application, as it is stored. */
export type StoredRelay = RowOf<
  Relay,
  'kind' | 'settingsSealed' | 'lastError' | 'lastErrorAt' | 'createdAt' | 'updatedAt'
>;

/** The mailing service of an application, with its last answer about one account. */
export interface RelayOfAccount extends Pick<StoredRelay, 'kind' | 'settingsSealed' | 'lastError'> {
  /**
   * Whether the service takes mail from the account, and the account has not been removed from it.
   */
  confirmed: boolean;
  /**
   * Whether the account's address is proven. The service is never asked about an unproven address.
   */
  proven: boolean;
}

/** An account about which its mailing service has to be asked. */
export interface UnaskedAccount extends AccountKey, RowOf<Grant, 'email' | 'name'> {}

const GET = `
  select kind, settings_sealed as "settingsSealed", last_error as "lastError", last_error_at as "lastErrorAt",
    created_at as "createdAt", updated_at as "updatedAt"
  from relay where application_id = $1`;

const PUT = `
  insert into relay (application_id, kind, settings_sealed, created_at, updated_at) values ($1, $2, $3, $4, $4)
  on conflict (application_id) do update set kind = excluded.kind, settings_sealed = excluded.settings_sealed,
    updated_at = excluded.updated_at, last_error = null, last_error_at = null`;

const FORGET_SENDERS = `
  delete from relay_sender s using "grant" g where g.id = s.account_id and g.application_id = $1`;

const FIND = `
  select r.kind, r.settings_sealed as "settingsSealed", r.last_error as "lastError",
    coalesce((s.domain_verified or s.sender_verified) and s.removed_at is null and g.proof is not null, false)
      as confirmed, g.proof is not null as proven
  from relay r
  join "grant" g on g.application_id = r.application_id and g.id = $2
  left join relay_sender s on s.account_id = g.id
  where r.application_id = $1`;

/*
 * The answers of a service belong to one version of its settings, so a statement with this text
 * writes nothing if the settings were replaced. A replacement that runs at the same time waits for
 * the share lock, and then deletes the new row. Encryption uses a nonce, so equal encrypted texts
 * are the same version.
 */
const ofThisVersion = (condition: string): string => `
  from relay r join "grant" g on g.application_id = r.application_id and g.id = $2
  where r.application_id = $1 and r.settings_sealed = $3 and ${condition}
  for share of r for key share of g`;

const CLAIM = `
  insert into relay_sender as s (account_id, domain_verified, sender_verified, detail, checked_at)
  select g.id, false, false, null, $4::timestamptz ${ofThisVersion('g.proof is not null')}
  on conflict (account_id) do update set checked_at = excluded.checked_at
  where not (s.domain_verified or s.sender_verified) and s.removed_at is null and s.checked_at <= $5
  returning 1`;

const RECORD = `
  insert into relay_sender as s (account_id, domain_verified, sender_verified, detail, checked_at)
  select g.id, $5::boolean, $6::boolean, $7::text, $4::timestamptz ${ofThisVersion('g.proof is not null')}
  on conflict (account_id) do update set domain_verified = excluded.domain_verified,
    sender_verified = excluded.sender_verified, detail = excluded.detail, checked_at = excluded.checked_at
  returning 1`;

const REMOVE = `
  insert into relay_sender as s (account_id, domain_verified, sender_verified, detail, checked_at, removed_at)
  select g.id, false, false, null, $4::timestamptz, $4::timestamptz ${ofThisVersion('true')}
  on conflict (account_id) do update set domain_verified = false, sender_verified = false, detail = null,
    checked_at = excluded.checked_at, removed_at = excluded.removed_at
  returning 1`;

const UNASKED = `
  select g.* from (select application_id from relay order by random() limit 20) r
  cross join lateral (
    select g.id as "accountId", g.application_id as "applicationId", g.email, g.name
    from "grant" g left join relay_sender s on s.account_id = g.id
    where g.application_id = r.application_id and g.status = 'valid' and g.proof is not null and g.provider = any($2)
      and (s.account_id is null or s.removed_at is null and s.checked_at <= $1
        and not (s.domain_verified or s.sender_verified) and (s.detail is null or ${isBreakerStopped('g.id')}))
    order by s.checked_at nulls first, g.id limit 20
  ) g`;

const FORGET_UNVERIFIED = `
  delete from relay_sender
  where account_id = $1 and (removed_at is not null or not (domain_verified or sender_verified))`;

/**
 * Deletes the service's answer about an account, so that the service is asked again: when the
 * account was moved, and when it was connected again. The answer stays if the reconnected account
 * is confirmed and was not removed from the service.
 */
export const SENDERS_OF_ACCOUNT: AccountListener = {
  async reconnected(sql, { accountId }) {
    await sql.query(FORGET_UNVERIFIED, [accountId]);
  },
  mirrorDeletions: ['delete from relay_sender where account_id = $1'],
};

/** Stores mailing services, and the accounts they take mail from. */
@Injectable()
export class RelayRepository {
  constructor(
    private readonly database: Database,
    private readonly listeners: RelayListeners,
  ) {}

  async get(applicationId: string): Promise<StoredRelay | undefined> {
    return (await this.database.query<StoredRelay>(GET, [applicationId]))[0];
  }

  /** Creates or replaces the service. Deletes what the former service reported about accounts. */
  async put(applicationId: string, kind: string, settingsSealed: string, now: Date): Promise<void> {
    await this.database.transaction(async (sql) => {
      await sql.query(PUT, [applicationId, kind, settingsSealed, now]);
      await sql.query(FORGET_SENDERS, [applicationId]);
      const target = { type: 'relay', id: applicationId };
      const action = 'relay.set';
      await recordAudit(sql, { action, target, applicationId, details: { kind } });
    });
  }

  /** @returns whether there was a service */
  remove(applicationId: string): Promise<boolean> {
    return this.database.transaction(async (sql) => {
      const gone = await sql.query('delete from relay where application_id = $1 returning 1', [
        applicationId,
      ]);
      await sql.query(FORGET_SENDERS, [applicationId]);
      const target = { type: 'relay', id: applicationId };
      if (gone.length > 0)
        await recordAudit(sql, { action: 'relay.remove', target, applicationId });
      return gone.length > 0;
    });
  }

  /**
   * @returns `undefined` if the application has no service, or the account belongs to another
   *   application
   */
  async find({ applicationId, accountId }: AccountKey): Promise<RelayOfAccount | undefined> {
    return (await this.database.query<RelayOfAccount>(FIND, [applicationId, accountId]))[0];
  }

  /**
   * Claims the next question about an account that is not confirmed.
   * @param before if the service was asked after this time, nothing is claimed
   * @returns whether the caller is to ask the service
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

  /**
   * Records what the service reported. Does nothing if its settings were replaced meanwhile, or the
   * account was deleted.
   * @returns whether it was recorded
   */
  async record(
    { applicationId, accountId }: AccountKey,
    settingsSealed: string,
    { domainVerified, senderVerified, detail }: SenderStatus,
    now: Date,
    sql: Sql = this.database,
  ): Promise<boolean> {
    const open = domainVerified || senderVerified;
    // `null` would mean that the service did not answer.
    const words = open ? detail : storable(detail ?? '', 1_000) || 'not verified';
    const reported = [domainVerified, senderVerified, words];
    const values = [applicationId, accountId, settingsSealed, now, ...reported];
    return (await sql.query(RECORD, values)).length > 0;
  }

  /**
   * As `record`, for an account from which the service takes mail now and did not do so before.
   * Informs the listeners in the same transaction.
   */
  async recordOpening(
    relay: AccountKey,
    settingsSealed: string,
    status: SenderStatus,
    now: Date,
  ): Promise<void> {
    await this.database.transaction(async (sql) => {
      await this.listeners.lockWork(sql, relay.accountId);
      if (await this.record(relay, settingsSealed, status, now, sql))
        await this.listeners.opened(sql, relay.accountId);
    });
  }

  /** Records that the account was removed from the service. */
  async markRemoved({ applicationId, accountId }: AccountKey, settingsSealed: string, now: Date) {
    await this.database.transaction(async (sql) => {
      await sql.query(REMOVE, [applicationId, accountId, settingsSealed, now]);
      const target = { type: 'account', id: accountId };
      const action = 'relay.remove-sender';
      await recordAudit(sql, { action, target, applicationId, accountId });
    });
  }

  /**
   * Valid accounts of these providers with a proven address, for which their service was never
   * asked or has not answered since `before`. An account whose server takes no mail now, for
   * example at its daily limit, is asked for again if the service had refused it. Returns a few
   * accounts each of some applications.
   */
  unasked(before: Date, providers: readonly string[]): Promise<UnaskedAccount[]> {
    return this.database.query<UnaskedAccount>(UNASKED, [before, providers]);
  }

  /** Records a problem with these settings; the same problem at most once a minute. */
  async keepTrouble(
    { applicationId, settingsSealed }: { applicationId: string; settingsSealed: string },
    words: string,
    now: Date,
  ): Promise<void> {
    await this.database.query(
      `update relay set last_error = $3, last_error_at = $4 where application_id = $1 and settings_sealed = $2
         and (last_error is distinct from $3 or last_error_at < $4::timestamptz - interval '1 minute')`,
      [applicationId, settingsSealed, storable(words, 1_000), now],
    );
  }

  /** Deletes the recorded problem, because these settings work again. */
  async forgetTrouble({
    applicationId,
    settingsSealed,
  }: {
    applicationId: string;
    settingsSealed: string;
  }): Promise<void> {
    await this.database.query(
      `update relay set last_error = null, last_error_at = null
       where application_id = $1 and settings_sealed = $2 and last_error is not null`,
      [applicationId, settingsSealed],
    );
  }
}
