import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { Sql } from '../../../platform/database/sql.ts';
import type { ReplacedValues } from '../../../accounts/provider-writes/open-writes.ts';
import { ConnectorRegistry } from '../../../providers/port/connector-registry.ts';
import type { ProviderAccount } from '../../../providers/port/connector.ts';
import { asStoredAt } from './as-stored.ts';
import { OWN_FIELDS } from '../event-columns.ts';
import {
  markAsProvider,
  type MirrorEvent,
  type RestoredFields,
  writeRestored,
} from '../mirror/event-mirror.ts';
import { changeOf } from '../mirror/event-plan.ts';
import { EventReminders } from '../ports/event-reminders.ts';

/** The account whose events are restored. */
export type RestoringAccount = Pick<ProviderAccount, 'accountId' | 'email' | 'name'> & {
  provider: string;
};

/** An event whose provider write was refused. Its row must be locked. */
export interface EventToRestore {
  row: MirrorEvent;
  /** What the refused change replaced. Absent: only the content at the provider is restored. */
  replaced?: ReplacedValues;
}

/**
 * Gives events back the state that their provider has, after the provider has refused a change:
 * the content from the provider, and the other fields from before the change. Fields that were
 * changed again since stay as they are. The reminders follow.
 */
@Injectable()
export class EventRestorer {
  constructor(
    private readonly reminders: EventReminders,
    private readonly connectors: ConnectorRegistry,
  ) {}

  /**
   * Restores events, in the caller's transaction.
   * @param zone of their calendar, for all-day events
   * @returns the events that have changed, as they were before; the caller logs the changes
   */
  async restore(
    sql: Sql,
    account: RestoringAccount,
    events: readonly EventToRestore[],
    zone: string,
    at: Date,
  ): Promise<MirrorEvent[]> {
    const port = this.connectors.requireCalendar(account.provider);
    const asStored = asStoredAt(port, account);
    const changed = events.flatMap(({ row, replaced }) => {
      const before = replaced ? valuesBefore(row, replaced) : {};
      const event = { ...row, ...before };
      const content = row.providerContent && changeOf(event, row.providerContent, asStored, zone);
      if (!content && Object.keys(before).length === 0) return [];
      return [{ row, id: row.id, fields: { ...event, ...content } satisfies RestoredFields }];
    });
    await writeRestored(sql, changed, at);
    const changedIds = new Set(changed.map(({ id }) => id));
    const same = events.flatMap(({ row: { id } }) => (changedIds.has(id) ? [] : [id]));
    await markAsProvider(sql, same, at);
    const plans = changed
      .filter(({ row, fields }) => row.notifications.length + fields.notifications.length > 0)
      .map(({ id, fields }) => ({
        ...fields,
        accountId: account.accountId,
        eventId: id,
        cancelled: fields.status === 'cancelled',
      }));
    await this.reminders.planAll(sql, account.accountId, plans, at);
    return changed.map(({ row }) => row);
  }
}

/** The values to return to. A field that was changed again since is left out. */
function valuesBefore(
  row: MirrorEvent,
  { before, after }: ReplacedValues,
): Partial<RestoredFields> {
  const fields = OWN_FIELDS.filter(
    (field) => field in before && isDeepStrictEqual(row[field], after[field]),
  );
  return Object.fromEntries(fields.map((field) => [field, before[field]]));
}
