import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import type { Application } from './application.entity.ts';
import type { ApplicationView, IpAddressesView } from './applications.schema.ts';
import type { PublicAddresses } from './public-addresses.service.ts';

export function toApplicationView(application: Application): ApplicationView {
  return {
    application_name: application.name,
    icon_url: application.iconUrl ?? null,
    contact_email: application.contactEmail ?? null,
    redirect_uris: application.redirectUris,
    allow_response_type_token: application.allowsTokenResponse,
    allowed_scopes: application.allowedScopes ?? null,
    access_token_expires_in: application.tokenLifetime ?? null,
    revoke_tokens_on_sign_in: application.revokesOlderTokens,
  };
}

export function toIpAddressesView({ addresses, updatedAt }: PublicAddresses): IpAddressesView {
  return { ip_addresses: addresses, updated_at: toUnixSeconds(updatedAt) };
}
