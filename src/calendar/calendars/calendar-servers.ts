import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { DomainError } from '../../platform/base/errors/domain-error.ts';
import type { Sql } from '../../platform/database/sql.ts';
import {
  ACCOUNT_COLUMNS,
  type AccountRow,
  ProviderAccounts,
} from '../../accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';

/** The account can be used for mail only: it has no calendar server. */
export class NoCalendarServerError extends DomainError {
  constructor() {
    super(
      'calendar.no-server',
      'invalid',
      'This account has no calendar server, so calendars and events cannot be written. Authenticate it again with the settings of its calendar server.',
    );
  }
}

const ACCOUNT = `select ${ACCOUNT_COLUMNS} from "grant" g where g.id = $1`;

/** Knows which accounts have a calendar server. */
@Injectable()
export class CalendarServers {
  constructor(
    private readonly connectors: ConnectorRegistry,
    private readonly accounts: ProviderAccounts,
  ) {}

  /**
   * Checks that changes of calendars and events can be written. Call it before anything is stored.
   * @param sql the transaction of the change
   * @throws {UnsupportedProviderError} if the account's provider has no calendars
   * @throws {NoCalendarServerError} if this account has none
   */
  async require(
    sql: Sql,
    { provider, accountId }: Pick<AccountPrincipal, 'provider' | 'accountId'>,
  ): Promise<void> {
    const port = this.connectors.requireCalendar(provider);
    if (!port.hasCalendars) return;
    const [row] = await sql.query<AccountRow>(ACCOUNT, [accountId]);
    if (row && !port.hasCalendars(this.accounts.open(row))) throw new NoCalendarServerError();
  }
}
