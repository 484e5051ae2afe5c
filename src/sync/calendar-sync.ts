import { Injectable } from '@nestjs/common';
import { newId } from '../common/ids/ids.ts';
import { Clock } from '../common/time/clock.ts';
import { recordChanges } from '../deltas/change-log.ts';
import type { ConnectedAccount } from '../grants/provider-accounts.ts';
import type { CalendarPort } from '../providers/connector.ts';
import { type MirrorClaim, MirrorRepository } from './mirror.repository.ts';

// A calendar of ours without a provider's id is being created there right now, and may be one of those listed.
const ADOPT = `
  insert into calendar (id, account_id, provider_id, name, description, location, timezone, is_primary, read_only,
    metadata, created_at, updated_at)
  select x.id, $1, x.provider_id, x.name, x.description, x.location, x.timezone, x.is_primary, x.read_only,
    '{}', $3, $3
  from jsonb_to_recordset($2::jsonb) x(id uuid, provider_id text, name text, description text, location text,
    timezone text, is_primary boolean, read_only boolean)
  where x.is_primary
     or not exists (select 1 from calendar c where c.account_id = $1 and c.provider_id is null)
  on conflict (account_id, provider_id) do nothing
  returning id`;

/** Brings the calendars an account has at its provider into the mirror. */
@Injectable()
export class CalendarSync {
  constructor(
    private readonly repository: MirrorRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * Adds the provider's calendars that the mirror lacks. They are history: logged, but subscribers are not told.
   * @throws {ProviderError}
   * @throws {ClaimLostError}
   */
  async run(account: ConnectedAccount, calendar: CalendarPort, claim: MirrorClaim): Promise<void> {
    const { accountId, applicationId } = account;
    const rows = (await calendar.listCalendars(account)).map((one) => ({
      id: newId(),
      provider_id: one.providerId,
      name: one.name,
      description: one.description,
      location: one.location,
      timezone: one.timezone,
      is_primary: one.isPrimary,
      read_only: one.readOnly,
    }));
    const at = this.clock.now();
    await this.repository.holding(claim, null, async (sql) => {
      const added = await sql.query<{ id: string }>(ADOPT, [accountId, JSON.stringify(rows), at]);
      await recordChanges(
        sql,
        added.map(({ id }) => ({
          applicationId,
          accountId,
          object: 'calendar' as const,
          objectId: id,
          event: 'create' as const,
          at,
        })),
      );
    });
  }
}
