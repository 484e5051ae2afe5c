import { Injectable } from '@nestjs/common';
import type { AccountListener } from '../../accounts/grants/account-listeners.ts';
import type { Page } from '../../platform/database/listing.ts';
import { JointLookUp } from '../../platform/base/concurrency/joint-look-up.ts';
import { Database, idsOf } from '../../platform/database/sql.ts';
import {
  ACCOUNT_COLUMNS,
  type AccountRow,
  type ConnectedAccount,
  ProviderAccounts,
} from '../../accounts/grants/provider-accounts.ts';
import { type Quota, type UsedUp } from '../../platform/quotas/quota.ts';
import { Quotas } from '../../platform/quotas/quotas.ts';
import type { Recurrence, When } from '../events/event-values.ts';
import { firstStart } from '../../formats/recurrence/series-source.ts';
import { openSeries } from '../../formats/recurrence/series.ts';
import type { DueReminder } from './send/due-reminder.ts';
import type { ReminderInfo } from './reminder-info.ts';
import type { ReminderType } from './reminder-status.ts';
import type { Reminder } from './reminder.entity.ts';
import type { Grant } from '../../accounts/grants/grant.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

// Reads all reminders claimed together in one round trip. The content of a notification comes only
// with its first reminder: hundreds of participants share the same text.
const FIND_DUE = `
  select r.id, r.type, r.recipient, r.name as "toName", r.due_at as "dueAt", r.expires_at as "expiresAt", r.status,
    r.reason as "lastFailure", r.message_id_header as "messageIdHeader", a.features, a.secret_sealed as "secretSealed",
    r.event_id || ' ' || r.notification_id as said,
    m.when_value as "when", m.recurrence, coalesce(m.replaced, false) as replaced,
    case when row_number() over (partition by r.event_id, r.notification_id) = 1 then c.content end as content,
    ${ACCOUNT_COLUMNS}
  from unnest($1::uuid[], $2::uuid[]) j(id, account_id)
  join reminder r on r.id = j.id and r.account_id = j.account_id
  join reminder_content c using (event_id, notification_id)
  join "grant" g on g.id = r.account_id
  join application a on a.id = g.application_id
  left join lateral (
    select e.when_value, e.recurrence, exists (
      select 1 from event i
      where i.master_event_id = e.id and not i.released and i.original_start =
        coalesce(coalesce(e.when_value ->> 'date', e.when_value ->> 'start_date')::timestamp at time zone 'UTC', e.starts_at)) as replaced
    from event e where e.id = r.event_id and e.recurrence is not null) m on true`;

// Rows stay locked until they are counted. If two workers have the same reminder, the second finds
// it counted.
const SCHEDULED = `
  select r.id, r.account_id as "accountId", r.type, g.application_id as "applicationId",
    r.charged_at is not null as charged
  from unnest($1::uuid[], $2::uuid[]) j(id, account_id)
  join reminder r on r.id = j.id and r.account_id = j.account_id
  join "grant" g on g.id = r.account_id
  where r.status = 'scheduled' order by r.id for update of r`;

const CHARGED = 'update reminder set charged_at = now() where id = any($1::uuid[])';

const FORGET_LOOK_UPS = 'update reminder_job set look_ups = 0 where id = $1 and fence = $2';

const LIST = `
  select id, notification_id as "notificationId", type, participant, recipient, due_at as "dueAt", status, reason,
    attempts, sent_at as "sentAt"
  from reminder where account_id = $1 and event_id = $2
  order by due_at, type, participant, id limit $3 offset $4`;

type Row = Omit<DueReminder, 'content' | 'name' | 'withoutFirst'> &
  AccountRow & {
    toName: string;
    said: string;
    content: DueReminder['content'] | null;
    /** For a recurring event: its time and rules. `null` for any other event. */
    when: When | null;
    recurrence: Recurrence | null;
    /** True if the first occurrence has a row of its own. */
    replaced: boolean;
  };

/** A claimed reminder and the account that owns its event. */
export interface FoundReminder {
  reminder: DueReminder;
  account: ConnectedAccount;
}

/** A reminder that is still to be sent. */
interface ScheduledReminder
  extends RowOf<Reminder, 'id' | 'accountId' | 'type'>, RowOf<Grant, 'applicationId'> {
  charged: boolean;
}

/**
 * Whether a reminder may be sent: `dropped` if it is no longer wanted, `refused` if a quota is used
 * up.
 */
export type Admission = { kind: 'send' } | { kind: 'dropped' } | { kind: 'refused'; by: UsedUp };

const QUOTAS_OF: Readonly<Record<ReminderType, readonly Quota[]>> = {
  email: ['reminders'],
  sms: ['sms', 'reminders'],
  webhook: ['reminders'],
};

const keyOf = (id: string, accountId: string) => `${id} ${accountId}`;

/** Splits keys into the two array parameters of the statements. */
function columnsOf(keys: readonly string[]): [ids: string[], accountIds: string[]] {
  const pairs = keys.map((key) => key.split(' ') as [string, string]);
  return [pairs.map(([id]) => id), pairs.map(([, accountId]) => accountId)];
}

const DELETE_JOBS = `
  delete from reminder_job where id in (
    select id from reminder_job where id in (select id from reminder where account_id = $1) order by id for update)`;

/**
 * Deletes the queue rows of an account. They are found through their reminders, because the queue
 * table has no index by account.
 */
export const REMINDERS_OF_ACCOUNT: AccountListener = {
  queue: 'reminder',
  async endWork(sql, accountId) {
    await sql.query(DELETE_JOBS, [accountId]);
    return [];
  },
};

function isWithoutFirst({ when, recurrence, replaced }: Row): boolean {
  if (!when || !recurrence) return false;
  return replaced || !openSeries({ when, recurrence }).at(firstStart(when));
}

/**
 * Reads reminders for the dispatcher and the API. Reminders sent at the same time share their
 * queries.
 */
@Injectable()
export class ReminderRepository {
  readonly #due = new JointLookUp((keys) => this.#findDue(keys));
  readonly #admissions = new JointLookUp((keys) => this.#admit(keys));

  constructor(
    private readonly database: Database,
    private readonly accounts: ProviderAccounts,
    private readonly quotas: Quotas,
  ) {}

  /**
   * The reminder with its account.
   * @returns `undefined` if the account or the reminder was deleted
   * @throws {UnsealError}
   */
  async findDue(id: string, accountId: string): Promise<FoundReminder | undefined> {
    const row = await this.#due.get(keyOf(id, accountId));
    return row && { reminder: row.reminder, account: this.accounts.open(row.account) };
  }

  /**
   * Checks whether the reminder is still to be sent, with data read after this call began, and
   * counts it for its quotas. A reminder is counted only once, even if it is admitted again or
   * cannot be sent.
   */
  async admit(id: string, accountId: string): Promise<Admission> {
    return (await this.#admissions.get(keyOf(id, accountId))) ?? { kind: 'dropped' };
  }

  /**
   * Call before a reminder is sent again although look-ups proved nothing: if its worker dies, the
   * new attempt gets look-ups of its own.
   */
  async forgetLookUps(id: string, fence: number): Promise<void> {
    await this.database.query(FORGET_LOOK_UPS, [id, fence]);
  }

  /** Reminders of an event, ordered by due time, type and participant. */
  listForEvent(
    accountId: string,
    eventId: string,
    { limit, offset }: Page,
  ): Promise<ReminderInfo[]> {
    return this.database.query<ReminderInfo>(LIST, [accountId, eventId, limit, offset]);
  }

  async #findDue(
    keys: string[],
  ): Promise<Map<string, { reminder: DueReminder; account: AccountRow }>> {
    const rows = await this.database.query<Row>(FIND_DUE, columnsOf(keys));
    const contents = new Map(
      rows.flatMap(({ said, content }) => (content ? [[said, content]] : [])),
    );
    return new Map(
      rows.map((row) => {
        const content = contents.get(row.said) ?? {};
        const reminder = { ...row, name: row.toName, content, withoutFirst: isWithoutFirst(row) };
        return [keyOf(row.id, row.accountId), { reminder, account: row }];
      }),
    );
  }

  #admit(keys: string[]): Promise<Map<string, Admission>> {
    return this.database.transaction(async (sql) => {
      const rows = await sql.query<ScheduledReminder>(SCHEDULED, columnsOf(keys));
      const admissions = new Map<string, Admission>(
        rows.map(({ id, accountId }) => [keyOf(id, accountId), { kind: 'send' }]),
      );
      const uncounted = rows.filter(
        ({ type, charged }) => !charged && this.quotas.limits(QUOTAS_OF[type]),
      );
      if (uncounted.length === 0) return admissions;
      const refusals = await this.quotas.take(
        sql,
        uncounted.map((row) => ({ ...row, quotas: QUOTAS_OF[row.type] })),
      );
      for (const [index, { id, accountId }] of uncounted.entries()) {
        const by = refusals[index];
        if (by) admissions.set(keyOf(id, accountId), { kind: 'refused', by });
      }
      const counted = uncounted.filter((_, index) => !refusals[index]);
      if (counted.length > 0) await sql.query(CHARGED, [idsOf(counted)]);
      return admissions;
    });
  }
}
