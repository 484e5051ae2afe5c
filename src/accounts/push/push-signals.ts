import { Injectable } from '@nestjs/common';
import { equalHashes, hashToken } from '../../platform/base/crypto/token-hash.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import type { PushEvent, PushIntegration, PushSignal } from '../../providers/port/push-port.ts';
import { schedulePushed } from '../sync-schedule/schedule-sync.ts';
import type { PushSubscription } from './push-subscription.entity.ts';
import type { Grant } from '../grants/grant.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** Further signals of one request are ignored. Polling finds the changes. */
const MOST_SIGNALS = 1_000;
const LONGEST_ID = 500;

type KnownRow = RowOf<
  PushSubscription,
  'id' | 'accountId' | 'resource' | 'providerId' | 'secretHash'
> &
  RowOf<Grant, 'applicationId' | 'email'>;

/** A row and what the provider reports about it. */
interface Report {
  row: KnownRow;
  event: PushEvent;
}

const COLUMNS = `
  select p.id, p.account_id as "accountId", g.application_id as "applicationId", p.resource,
    p.provider_id as "providerId", g.email, p.secret_hash as "secretHash"
  from push_subscription p join "grant" g on g.id = p.account_id`;
const LIVE = `p.expires_at > $2 and p.wanted and g.billing_state <> 'cancelled'`;

const BY_ID = `${COLUMNS} where p.provider = $1 and p.provider_id = any($3::text[]) and ${LIVE}`;

const BY_MAILBOX = `
  ${COLUMNS} where g.provider = $1 and g.application_id = $4 and g.email = any($3::text[]) and p.provider = $1 and ${LIVE}`;

// Written at most once a minute for each row: a busy mailbox is notified many times a second.
const NOTE = `
  update push_subscription set notified_at = $2
  where id = any($1::uuid[]) and (notified_at is null or notified_at < $2::timestamptz - interval '1 minute')`;

const RENEW = `update push_subscription set renew_at = $2, due_at = least(due_at, $2) where id = any($1::uuid[])`;

const REMOVED = `
  update push_subscription set provider_id = null, secret_hash = null, expires_at = null, renew_at = null,
    due_at = least(due_at, $2)
  where id = any($1::uuid[])`;

/** Stores what providers report: makes sync passes and upkeep of subscriptions due. */
@Injectable()
export class PushSignals {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * Stores signals. Those about unknown subscriptions, or with a wrong secret, change nothing.
   * @param integration the one that the provider has notified; `null` if the address named none
   * @returns how many signals were about live subscriptions. Everything is committed then
   */
  async store(
    provider: string,
    integration: PushIntegration | null,
    signals: readonly PushSignal[],
  ): Promise<number> {
    const considered = signals.slice(0, MOST_SIGNALS);
    const now = this.clock.now();
    const reports = [
      ...(await this.#bySubscription(provider, integration, considered, now)),
      ...(await this.#byMailbox(provider, integration, considered, now)),
    ];
    if (reports.length > 0) await this.#write(reports, now);
    return reports.length;
  }

  async #bySubscription(
    provider: string,
    integration: PushIntegration | null,
    signals: readonly PushSignal[],
    now: Date,
  ): Promise<Report[]> {
    const named = signals.flatMap((signal) =>
      'subscription' in signal && isStorable(signal.subscription) ? [signal] : [],
    );
    const ids = [...new Set(named.map(({ subscription }) => subscription))];
    if (ids.length === 0) return [];
    const rows = await this.database.query<KnownRow>(BY_ID, [provider, now, ids]);
    const byId = Map.groupBy(rows, ({ providerId }) => providerId);
    return named.flatMap(({ subscription, proof, event }) =>
      (byId.get(subscription) ?? [])
        .filter((row) =>
          proof === 'verified' ? isOf(row, integration) : isSecretOf(row, proof.secret),
        )
        .map((row) => ({ row, event })),
    );
  }

  async #byMailbox(
    provider: string,
    integration: PushIntegration | null,
    signals: readonly PushSignal[],
    now: Date,
  ): Promise<Report[]> {
    const named = signals.flatMap((signal) =>
      'mailbox' in signal && isStorable(signal.mailbox) ? [signal] : [],
    );
    if (integration === null || named.length === 0) return [];
    const emails = [...new Set(named.map(({ mailbox }) => mailbox.toLowerCase()))];
    const { applicationId } = integration;
    const rows = await this.database.query<KnownRow>(BY_MAILBOX, [
      provider,
      now,
      emails,
      applicationId,
    ]);
    return named.flatMap(({ mailbox, resource, event }) =>
      rows
        .filter((row) => row.email === mailbox.toLowerCase() && row.resource === resource)
        .map((row) => ({ row, event })),
    );
  }

  // Each statement commits by itself, so that no transaction holds locks of two tables. If the
  // process dies in between, the provider repeats the notification, because it got no answer.
  async #write(reports: readonly Report[], now: Date): Promise<void> {
    const idsOf = (event: PushEvent) => [
      ...new Set(reports.flatMap((report) => (report.event === event ? [report.row.id] : []))),
    ];
    const [renew, removed] = [idsOf('renew'), idsOf('removed')];
    const changed = reports.filter(({ event }) => event !== 'renew');
    await schedulePushed(
      this.database,
      changed.map(({ row }) => row),
    );
    if (renew.length > 0) await this.database.query(RENEW, [renew, now]);
    if (removed.length > 0) await this.database.query(REMOVED, [removed, now]);
    await this.database.query(NOTE, [[...new Set(reports.map(({ row }) => row.id))], now]);
  }
}

const isStorable = (text: string): boolean =>
  text.length > 0 && text.length <= LONGEST_ID && !text.includes('\0') && text.isWellFormed();

const isSecretOf = ({ secretHash }: KnownRow, secret: string): boolean =>
  secretHash !== null && equalHashes(secretHash, hashToken(secret));

/** A signature proves only the integration whose key was used. */
const isOf = (row: KnownRow, integration: PushIntegration | null): boolean =>
  integration === null || row.applicationId === integration.applicationId;
