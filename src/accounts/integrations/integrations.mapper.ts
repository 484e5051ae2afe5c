import type { Page } from '../../platform/database/listing.ts';
import type { Integration } from './integration.entity.ts';
import type {
  IntegrationEnvelope,
  IntegrationListView,
  IntegrationView,
} from './integrations.schema.ts';

export function toIntegrationView(integration: Integration): IntegrationView {
  const { id, name, provider, settings, redirectUris, expiresIn, scope, requireProvenAddress } =
    integration;
  return {
    id,
    name,
    provider,
    settings,
    redirect_uris: redirectUris,
    expires_in: expiresIn,
    scope: scope ?? [],
    require_proven_address: requireProvenAddress,
  };
}

export function toIntegrationEnvelope(integration: Integration): IntegrationEnvelope {
  return { success: true, data: toIntegrationView(integration) };
}

export function toIntegrationListView(
  integrations: Integration[],
  page: Page,
): IntegrationListView {
  return { data: integrations.map(toIntegrationView), limit: page.limit, offset: page.offset };
}
