import { Injectable } from '@nestjs/common';
import { isId } from '../../platform/base/ids/ids.ts';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import { Database } from '../../platform/database/sql.ts';
import type { PushIntegration } from '../../providers/port/push-port.ts';
import { openIntegrationSecrets } from '../integrations/integration-secrets.ts';
import type { Integration } from '../integrations/integration.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

interface IntegrationRow extends RowOf<
  Integration,
  'id' | 'applicationId' | 'provider' | 'secretSettingsSealed'
> {
  settings: Record<string, unknown>;
}

const COLUMNS = `
  select id, application_id as "applicationId", provider, settings, secret_settings_sealed as "secretSettingsSealed"
  from integration`;
const OF = `${COLUMNS} where application_id = $1 and provider = $2`;
const BY_ID = `${COLUMNS} where id = $1 and provider = $2`;
const ALL = `${COLUMNS} where provider = any($1::text[]) order by id`;

/** Integrations with all their settings, as push ports need them. */
@Injectable()
export class PushIntegrations {
  constructor(
    private readonly database: Database,
    private readonly secretBox: SecretBox,
  ) {}

  /**
   * The application's integration of a provider, or `null`.
   * @throws {UnsealError}
   */
  async of(applicationId: string, provider: string): Promise<PushIntegration | null> {
    return this.#first(OF, [applicationId, provider]);
  }

  /**
   * The provider's integration with this id, or `null`.
   * @throws {UnsealError}
   */
  async byId(id: string, provider: string): Promise<PushIntegration | null> {
    return isId(id) ? this.#first(BY_ID, [id, provider]) : null;
  }

  /**
   * All integrations of these providers, oldest first.
   * @throws {UnsealError}
   */
  async all(
    providers: readonly string[],
  ): Promise<(PushIntegration & Pick<IntegrationRow, 'provider'>)[]> {
    if (providers.length === 0) return [];
    const rows = await this.database.query<IntegrationRow>(ALL, [providers]);
    return rows.map((row) => ({ ...this.#open(row), provider: row.provider }));
  }

  async #first(text: string, values: readonly string[]): Promise<PushIntegration | null> {
    const [row] = await this.database.query<IntegrationRow>(text, values);
    return row ? this.#open(row) : null;
  }

  #open({ id, applicationId, settings, secretSettingsSealed }: IntegrationRow): PushIntegration {
    const secrets =
      secretSettingsSealed === null
        ? {}
        : openIntegrationSecrets(this.secretBox, id, secretSettingsSealed);
    return { id, applicationId, settings: { ...settings, ...secrets } };
  }
}
