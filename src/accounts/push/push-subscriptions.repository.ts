import { Injectable } from '@nestjs/common';
import { storable } from '../../platform/base/text/storable.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import type { PushResource } from '../../providers/port/push-port.ts';
import { ACCOUNT_COLUMNS, type AccountRow } from '../grants/provider-accounts.ts';
import type { PreviousSubscription, PushSubscription } from './push-subscription.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** A row that this process has leased, with its account. */
export interface LeasedSubscription
  extends
    AccountRow,
    RowOf<
      PushSubscription,
      | 'id'
      | 'fence'
      | 'resource'
      | 'wanted'
      | 'providerId'
      | 'details'
      | 'previous'
      | 'expiresAt'
      | 'renewAt'
      | 'credentials'
      | 'address'
      | 'failures'
    > {
  /** MD5 of the account's encrypted settings. */
  currentCredentials: string;
}

/** A subscription that has just been made or renewed. */
export interface MadeSubscription {
  providerId: string | null;
  /** `null` if the secret has not changed. */
  secretHash: Buffer | null;
  details: Readonly<Record<string, string>>;
  previous: PreviousSubscription | null;
  expiresAt: Date;
  renewAt: Date;
  dueAt: Date;
  address: string | null;
}

/** How long a row waits, and why. */
export interface Postponement {
  dueAt: Date;
  failures: number;
  error: string | null;
  unsupported?: boolean;
}

/** A row as a sync pass sees it. */
export interface KnownSubscription extends RowOf<
  PushSubscription,
  'id' | 'resource' | 'wanted' | 'unsupported'
> {
  /** True if the provider reports changes until at least the given time. */
  live: boolean;
  /** True if the subscription was made with other credentials or for another address. */
  stale: boolean;
}

const LEASE = `
  with due as (
    select id from push_subscription
    where due_at <= $1 and (lease_until is null or lease_until <= $1)
    order by due_at limit $3 for update skip locked),
  leased as (
    update push_subscription p set due_at = $2, lease_until = $2, fence = fence + 1 from due where p.id = due.id
    returning p.*)
  select p.id, p.fence, p.resource, p.wanted, p.provider_id as "providerId", p.details, p.previous,
    p.expires_at as "expiresAt", p.renew_at as "renewAt", p.credentials, p.address, p.failures,
    md5(g.settings_sealed) as "currentCredentials", ${ACCOUNT_COLUMNS}
  from leased p join "grant" g on g.id = p.account_id order by p.account_id, p.resource`;

const OF_ACCOUNT = `
  select id, resource, wanted, unsupported, coalesce(expires_at > $2 and wanted, false) as live,
    expires_at is not null and (credentials <> md5($3) or address <> $4) as stale
  from push_subscription where account_id = $1`;

const ADD = `
  insert into push_subscription as p (id, account_id, provider, resource, due_at)
  select x.id, $1, $2, x.resource, $3 from unnest($4::uuid[], $5::text[]) x(id, resource)
  on conflict (account_id, resource) do update set wanted = true, due_at = excluded.due_at where not p.wanted`;

const DUE = `update push_subscription set due_at = $2 where id = any($1::uuid[]) and failures = 0 and due_at > $2`;

const UNWANT = `update push_subscription set wanted = false, due_at = $2, failures = 0 where id = any($1::uuid[])`;

// Work that was asked for during the lease has moved the due time.
const RELEASED = `lease_until = null, due_at = case when due_at = lease_until then $3 else least(due_at, $3) end`;

const STORE = `
  update push_subscription set ${RELEASED}, provider_id = $4, secret_hash = coalesce($5, secret_hash), details = $6,
    previous = $7, expires_at = $8, renew_at = $9, credentials = $10, address = $11, failures = 0, error = null,
    unsupported = false
  where id = $1 and fence = $2 returning 1`;

const POSTPONE = `
  update push_subscription set ${RELEASED}, failures = $4, error = $5, unsupported = $6
  where id = $1 and fence = $2`;

const DROP_PREVIOUS = `update push_subscription set previous = null where id = $1 and fence = $2`;

const LOSE = `
  update push_subscription set provider_id = null, secret_hash = null, expires_at = null, renew_at = null
  where id = $1 and fence = $2`;

const FORGET = `delete from push_subscription where id = $1 and fence = $2 and not wanted`;

const LIVE_OF_ACCOUNT = `
  select p.resource, one.id, one.details, one.expires_at as "expiresAt" from push_subscription p,
    lateral (values (p.provider_id, p.details, p.expires_at, false),
      (p.previous->>'id', p.previous->'details', (p.previous->>'expiresAt')::timestamptz, true))
      one(id, details, expires_at, is_previous)
  where p.account_id = $1 and one.expires_at > $2 and (one.id is not null or not one.is_previous)`;

/** Rows of `push_subscription` for sync passes and for upkeep. */
@Injectable()
export class PushSubscriptionRepository {
  constructor(private readonly database: Database) {}

  /** Leases rows that are due, of any account. Rows of one account follow each other. */
  lease(now: Date, until: Date, most: number): Promise<LeasedSubscription[]> {
    return this.database.query<LeasedSubscription>(LEASE, [now, until, most]);
  }

  /** @param address the current address for notifications; `null` if there is none */
  ofAccount(
    account: { accountId: string; settingsSealed: string },
    liveUntil: Date,
    address: string | null,
  ): Promise<KnownSubscription[]> {
    return this.database.query<KnownSubscription>(OF_ACCOUNT, [
      account.accountId,
      liveUntil,
      account.settingsSealed,
      address ?? '',
    ]);
  }

  /** Adds rows that are due at once. Rows that were to be ended are wanted again. */
  async add(
    { accountId, provider }: { accountId: string; provider: string },
    rows: readonly { id: string; resource: PushResource }[],
    now: Date,
  ): Promise<void> {
    const columns = [rows.map(({ id }) => id), rows.map(({ resource }) => resource)];
    await this.database.query(ADD, [accountId, provider, now, ...columns]);
  }

  /** Makes rows due, except those that wait after a failure. */
  async makeDue(ids: readonly string[], now: Date): Promise<void> {
    await this.database.query(DUE, [ids, now]);
  }

  /** Marks rows as not wanted: upkeep unsubscribes and deletes them. */
  async unwant(ids: readonly string[], now: Date): Promise<void> {
    await this.database.query(UNWANT, [ids, now]);
  }

  /** @returns false if another process has leased the row since, or the row was deleted */
  async store(sql: Sql, row: LeasedSubscription, made: MadeSubscription): Promise<boolean> {
    const stored = await sql.query(STORE, [
      row.id,
      row.fence,
      made.dueAt,
      made.providerId,
      made.secretHash,
      JSON.stringify(made.details),
      made.previous && JSON.stringify(made.previous),
      made.expiresAt,
      made.renewAt,
      row.currentCredentials,
      made.address ?? '',
    ]);
    return stored.length > 0;
  }

  /** Ends the lease. The row is due at `dueAt`, or earlier if that was asked for meanwhile. */
  async postpone({ id, fence }: LeasedSubscription, postponement: Postponement): Promise<void> {
    const { dueAt, failures, error, unsupported = false } = postponement;
    const text = error === null ? null : storable(error, 500);
    await this.database.query(POSTPONE, [id, fence, dueAt, failures, text, unsupported]);
  }

  async dropPrevious({ id, fence }: LeasedSubscription): Promise<void> {
    await this.database.query(DROP_PREVIOUS, [id, fence]);
  }

  /** Records that the provider no longer has the subscription. */
  async lose({ id, fence }: LeasedSubscription): Promise<void> {
    await this.database.query(LOSE, [id, fence]);
  }

  /** Deletes a row, unless it is wanted again. */
  async forget({ id, fence }: LeasedSubscription): Promise<void> {
    await this.database.query(FORGET, [id, fence]);
  }

  /** The subscriptions that the provider has for an account, including replaced ones. */
  liveOf(
    accountId: string,
    now: Date,
  ): Promise<
    {
      resource: PushResource;
      id: string | null;
      details: Record<string, string> | null;
      expiresAt: Date;
    }[]
  > {
    return this.database.query(LIVE_OF_ACCOUNT, [accountId, now]);
  }
}
