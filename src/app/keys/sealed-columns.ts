import { applicationSecretContext } from '../../accounts/applications/secret-context.ts';
import {
  authorizationCodeContext,
  loginPendingContext,
  loginSettingsContext,
} from '../../accounts/connect/oauth/sealed-contexts.ts';
import { conferencingSettingsContext } from '../../calendar/conferencing/conferencing-secrets.ts';
import {
  grantSettingsContext,
  grantTokensContext,
} from '../../accounts/grants/credentials/grant-secrets.ts';
import { integrationSecretContext } from '../../accounts/integrations/integration-secrets.ts';
import { relaySettingsContext } from '../../mail/relay/relay-secrets.ts';
import { webhookSecretContext } from '../../platform/webhooks/secrets/endpoint-secret.ts';

/**
 * A column of encrypted values. `context` returns the context that the value of a row is bound to.
 */
export interface SealedColumn {
  table: string;
  column: string;
  /** Primary key; default `id`. */
  key?: string;
  context: (id: string) => string;
}

/** Every column of the schema with encrypted values. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { table: 'application', column: 'secret_sealed', context: applicationSecretContext },
  { table: 'application', column: 'previous_secret_sealed', context: applicationSecretContext },
  { table: 'webhook_secret', column: 'secret_sealed', context: webhookSecretContext },
  { table: 'integration', column: 'secret_settings_sealed', context: integrationSecretContext },
  { table: 'grant', column: 'settings_sealed', context: grantSettingsContext },
  { table: 'grant', column: 'tokens_sealed', context: grantTokensContext },
  { table: 'authorization_code', column: 'request_sealed', context: authorizationCodeContext },
  { table: 'login_request', column: 'settings_sealed', context: loginSettingsContext },
  { table: 'login_request', column: 'pending_sealed', context: loginPendingContext },
  {
    table: 'relay',
    column: 'settings_sealed',
    key: 'application_id',
    context: relaySettingsContext,
  },
  {
    table: 'conferencing_service',
    column: 'settings_sealed',
    context: conferencingSettingsContext,
  },
];
