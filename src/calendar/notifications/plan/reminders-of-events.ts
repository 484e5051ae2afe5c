import { Inject, Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../../platform/auth/principal.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import type { Sql } from '../../../platform/database/sql.ts';
import { EgressClient } from '../../../platform/egress/egress-client.ts';
import { ConnectorRegistry } from '../../../providers/port/connector-registry.ts';
import type {
  EventReminders,
  NotificationOutcome,
  NotifyingFields,
  PlannedReminder,
  RemindedEvent,
  ReminderEvent,
} from '../../events/ports/event-reminders.ts';
import { assertFirstOccurrence, assertNotificationsAllowed } from './notification-rules.ts';
import { ReminderOutcomes } from '../send/reminder-outcomes.ts';
import { ReminderPlanner } from './reminder-planner.ts';

/** The reminders of events, for the module `events`. */
@Injectable()
export class RemindersOfEvents implements EventReminders {
  constructor(
    private readonly planner: ReminderPlanner,
    private readonly outcomeReader: ReminderOutcomes,
    private readonly connectors: ConnectorRegistry,
    private readonly egress: EgressClient,
    @Inject(APP_CONFIG) private readonly config: AppConfig,
  ) {}

  assertAllowed(
    account: AccountPrincipal,
    before: NotifyingFields | null,
    after: NotifyingFields,
  ): void {
    const hasMailbox = this.connectors.require(account.provider).mail !== undefined;
    const rights = { ...account, hasMailbox, quotas: this.config.quotas };
    assertNotificationsAllowed(before, after, rights, this.egress);
    if (!before) assertFirstOccurrence(after);
  }

  plan(sql: Sql, event: ReminderEvent, at: Date): Promise<PlannedReminder[]> {
    return this.planner.plan(sql, event, at);
  }

  planAll(sql: Sql, accountId: string, events: readonly ReminderEvent[], at: Date): Promise<void> {
    return this.planner.planAll(sql, accountId, events, at);
  }

  cancelEvents(
    sql: Sql,
    accountId: string,
    eventIds: readonly string[],
    reason: string,
    at: Date,
  ): Promise<void> {
    return this.planner.cancelEvents(sql, accountId, eventIds, reason, at);
  }

  outcomes(
    accountId: string,
    events: readonly RemindedEvent[],
  ): Promise<ReadonlyMap<string, readonly NotificationOutcome[]>> {
    return this.outcomeReader.of(accountId, events);
  }
}
