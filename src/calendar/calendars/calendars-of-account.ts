import { Injectable, type OnModuleInit } from '@nestjs/common';
import {
  type AccountListener,
  AccountListeners,
  type NewAccount,
} from '../../accounts/grants/account-listeners.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';

const ADD = `
  insert into calendar (id, account_id, provider_id, name, description, location, timezone, is_primary, read_only,
    metadata, created_at, updated_at)
  values ($1::uuid, $2, $1::uuid::text, $3, $4, $5, $6, true, false, '{}', $7, $7)`;

/** Adds and deletes calendars when an account is connected or moved. */
@Injectable()
export class CalendarsOfAccount implements AccountListener, OnModuleInit {
  readonly visibleObjects = [
    `select id, 'calendar' as object from calendar where account_id = $1 and not deleting`,
  ];
  readonly mirrorDeletions = ['delete from calendar where account_id = $1'];

  constructor(
    private readonly accounts: AccountListeners,
    private readonly connectors: ConnectorRegistry,
  ) {}

  onModuleInit(): void {
    this.accounts.add(this);
  }

  /**
   * Adds the primary calendar if the provider has none of its own. It is logged like the results of
   * a first sync pass: subscribers are not notified.
   */
  async connected(sql: Sql, account: NewAccount): Promise<void> {
    const calendar = this.connectors.require(account.provider).firstCalendar?.(account);
    if (!calendar) return;
    const { applicationId, accountId, at } = account;
    const { name, description, location, timezone } = calendar;
    const id = newId();
    await sql.query(ADD, [id, accountId, name, description, location, timezone, at]);
    await recordChanges(sql, [
      { applicationId, accountId, object: 'calendar', objectId: id, event: 'create', at },
    ]);
  }
}
