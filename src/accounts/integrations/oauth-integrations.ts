import { Injectable } from '@nestjs/common';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import { Database } from '../../platform/database/sql.ts';
import type { OauthRegistration } from '../oauth/oauth-registration.ts';
import {
  oauthAccountSettings,
  type OauthIntegration,
  oauthRegistrationOf,
} from './integration-oauth.ts';

/** OAuth settings of an integration whose accounts sign in by OAuth. */
export interface OauthSettings {
  registration: OauthRegistration;
  /** The settings of an account with this address. */
  settingsOf(email: string): Record<string, unknown>;
}

const FIND = `
  select id, provider, settings, secret_settings_sealed as "secretSettingsSealed"
  from integration where application_id = $1 and provider = $2`;

/** Finds how accounts of an application sign in by OAuth, according to the current integration. */
@Injectable()
export class OauthIntegrations {
  constructor(
    private readonly database: Database,
    private readonly secretBox: SecretBox,
  ) {}

  /**
   * @returns `null` if the provider is not registered, or its accounts do not sign in by OAuth
   * @throws {UnsealError}
   */
  async find(applicationId: string, provider: string): Promise<OauthSettings | null> {
    const [row] = await this.database.query<OauthIntegration>(FIND, [applicationId, provider]);
    const registration = row ? oauthRegistrationOf(this.secretBox, row) : null;
    return row && registration
      ? { registration, settingsOf: (email) => oauthAccountSettings(row, email) }
      : null;
  }
}
