import { Injectable } from '@nestjs/common';
import { newId } from '../../platform/base/ids/ids.ts';
import { storable } from '../../platform/base/text/storable.ts';
import { Database } from '../../platform/database/sql.ts';
import type {
  ConferencingKind,
  ConferencingProvider,
} from '../../providers/port/conferencing-port.ts';

export interface StoredService {
  id: string;
  provider: ConferencingProvider;
  kind: ConferencingKind;
  settingsSealed: string;
  /** What was wrong when it was used last; null: nothing. */
  lastError: string | null;
  lastErrorAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

const COLUMNS = `
  id, provider, kind, settings_sealed as "settingsSealed", last_error as "lastError", last_error_at as "lastErrorAt",
  created_at as "createdAt", updated_at as "updatedAt"`;

const LIST = `select ${COLUMNS} from conferencing_service where application_id = $1 order by provider`;
const GET = `select ${COLUMNS} from conferencing_service where application_id = $1 and id = $2`;
const FIND = `select ${COLUMNS} from conferencing_service where application_id = $1 and provider = $2`;

// The settings are sealed for the id: of two who make one at once, the later puts both in.
const PUT = `
  insert into conferencing_service as s (id, application_id, provider, kind, settings_sealed, created_at, updated_at)
  values ($1, $2, $3, $4, $5, $6, $6)
  on conflict (application_id, provider) do update set id = excluded.id, kind = excluded.kind,
    settings_sealed = excluded.settings_sealed, updated_at = excluded.updated_at, last_error = null, last_error_at = null`;

/** The conferencing services of applications. */
@Injectable()
export class ConferencingRepository {
  constructor(private readonly database: Database) {}

  /** By name; at most one of each. */
  list(applicationId: string): Promise<StoredService[]> {
    return this.database.query<StoredService>(LIST, [applicationId]);
  }

  async find(applicationId: string, provider: string): Promise<StoredService | undefined> {
    return (await this.database.query<StoredService>(FIND, [applicationId, provider]))[0];
  }

  async get(applicationId: string, id: string): Promise<StoredService | undefined> {
    return (await this.database.query<StoredService>(GET, [applicationId, id]))[0];
  }

  /** Makes or replaces it. @param seal what is stored of the settings, for its id @returns the id */
  async put(
    applicationId: string,
    { provider, kind }: Pick<StoredService, 'provider' | 'kind'>,
    seal: (id: string) => string,
    now: Date,
  ): Promise<string> {
    const id = (await this.find(applicationId, provider))?.id ?? newId();
    await this.database.query(PUT, [id, applicationId, provider, kind, seal(id), now]);
    return id;
  }

  /** @returns whether there was one */
  async remove(applicationId: string, id: string): Promise<boolean> {
    const gone = await this.database.query(
      'delete from conferencing_service where application_id = $1 and id = $2 returning 1',
      [applicationId, id],
    );
    return gone.length > 0;
  }

  /** Keeps what is wrong with these settings; null: they work again. */
  async note(id: string, trouble: string | null, now: Date): Promise<void> {
    await this.database.query(
      `update conferencing_service set last_error = $2, last_error_at = $3
       where id = $1 and last_error is distinct from $2`,
      [id, trouble && storable(trouble, 1_000), trouble && now],
    );
  }
}
