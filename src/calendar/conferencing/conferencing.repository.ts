import { recordAudit } from '../../platform/audit/record-audit.ts';
import { Injectable } from '@nestjs/common';
import { newId } from '../../platform/base/ids/ids.ts';
import { storable } from '../../platform/base/text/storable.ts';
import { Database } from '../../platform/database/sql.ts';
import type { ConferencingService } from './conferencing-service.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

export type StoredService = RowOf<
  ConferencingService,
  | 'id'
  | 'provider'
  | 'kind'
  | 'settingsSealed'
  | 'lastError'
  | 'lastErrorAt'
  | 'createdAt'
  | 'updatedAt'
>;

const COLUMNS = `
  id, provider, kind, settings_sealed as "settingsSealed", last_error as "lastError", last_error_at as "lastErrorAt",
  created_at as "createdAt", updated_at as "updatedAt"`;

const LIST = `select ${COLUMNS} from conferencing_service where application_id = $1 order by provider`;
const GET = `select ${COLUMNS} from conferencing_service where application_id = $1 and id = $2`;
const FIND = `select ${COLUMNS} from conferencing_service where application_id = $1 and provider = $2`;

// The settings are encrypted for the id. If two requests create a service at the same time, the
// later one replaces both id and settings.
const PUT = `
  insert into conferencing_service as s (id, application_id, provider, kind, settings_sealed, created_at, updated_at)
  values ($1, $2, $3, $4, $5, $6, $6)
  on conflict (application_id, provider) do update set id = excluded.id, kind = excluded.kind,
    settings_sealed = excluded.settings_sealed, updated_at = excluded.updated_at, last_error = null, last_error_at = null`;

/** Reads and writes the conferencing services of applications. */
@Injectable()
export class ConferencingRepository {
  constructor(private readonly database: Database) {}

  /** All services of an application, ordered by provider; at most one per provider. */
  list(applicationId: string): Promise<StoredService[]> {
    return this.database.query<StoredService>(LIST, [applicationId]);
  }

  async find(applicationId: string, provider: string): Promise<StoredService | undefined> {
    return (await this.database.query<StoredService>(FIND, [applicationId, provider]))[0];
  }

  async get(applicationId: string, id: string): Promise<StoredService | undefined> {
    return (await this.database.query<StoredService>(GET, [applicationId, id]))[0];
  }

  /**
   * Creates or replaces a service.
   * @param seal encrypts the settings for the given id
   * @returns the id
   */
  async put(
    applicationId: string,
    { provider, kind }: Pick<StoredService, 'provider' | 'kind'>,
    seal: (id: string) => string,
    now: Date,
  ): Promise<string> {
    const id = (await this.find(applicationId, provider))?.id ?? newId();
    await this.database.transaction(async (sql) => {
      await sql.query(PUT, [id, applicationId, provider, kind, seal(id), now]);
      const target = { type: 'conferencing', id };
      const action = 'conferencing.set';
      await recordAudit(sql, { action, target, applicationId, details: { provider, kind } });
    });
    return id;
  }

  /** @returns `true` if the service existed */
  async remove(applicationId: string, id: string): Promise<boolean> {
    return this.database.transaction(async (sql) => {
      const [removed] = await sql.query<RowOf<ConferencingService, 'provider'>>(
        'delete from conferencing_service where application_id = $1 and id = $2 returning provider',
        [applicationId, id],
      );
      if (!removed) return false;
      const target = { type: 'conferencing', id };
      const action = 'conferencing.remove';
      await recordAudit(sql, { action, target, applicationId, details: { ...removed } });
      return true;
    });
  }

  /** Stores the error of the last use; `null` if the service works again. */
  async note(id: string, failure: string | null, now: Date): Promise<void> {
    await this.database.query(
      `update conferencing_service set last_error = $2, last_error_at = $3
       where id = $1 and last_error is distinct from $2`,
      [id, failure && storable(failure, 1_000), failure && now],
    );
  }
}
