import { type ShownNames, toAccountView } from '../account-management/accounts.mapper.ts';
import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import type { Connection } from '../grants/moves/grant-connections.service.ts';
import type { ConnectedAccountView, DetectedProviderView } from './connect.schema.ts';
import type { DetectedProvider } from '../../providers/port/sign-in/sign-in-descriptor.ts';
import type { LoginInfoEnvelope } from './links/hosted-sign-in.schema.ts';
import type { StartedLogin } from './links/login-starts.service.ts';
import type { TokenView } from './connect.schema.ts';

export function toConnectedAccountView(
  { grant, accessToken, expiresAt }: Connection,
  names: ShownNames,
): ConnectedAccountView {
  return { ...toAccountView(grant, names), access_token: accessToken, ...expiry(expiresAt) };
}

/** The field `expires_at`, if the token expires. */
function expiry(expiresAt: Date | null): { expires_at?: number } {
  return expiresAt ? { expires_at: toUnixSeconds(expiresAt) } : {};
}

export function toDetectedProviderView(
  email: string,
  found: DetectedProvider | null,
): DetectedProviderView {
  return {
    auth_name: found?.providerName ?? null,
    detected: found !== null,
    email_address: email,
    is_imap: found?.isImap ?? false,
    provider_name: found?.providerName ?? null,
  };
}

export function toLoginInfoEnvelope({ request, url }: StartedLogin): LoginInfoEnvelope {
  const { id, expiresAt, redirectUri, provider, loginHint, clientState, scope, metadata } = request;
  return {
    success: true,
    data: {
      id,
      url,
      expires_at: toUnixSeconds(expiresAt),
      request: {
        redirect_uri: redirectUri,
        provider: provider ?? null,
        login_hint: loginHint ?? '',
        state: clientState ?? '',
        scope: scope ?? [],
        metadata: metadata ?? {},
      },
    },
  };
}

export function toTokenView(
  { grant, accessToken, expiresAt }: Connection,
  names: ShownNames,
): TokenView {
  return {
    access_token: accessToken,
    account_id: grant.id,
    email_address: grant.email,
    provider: names.shownAs(grant.provider),
    token_type: 'bearer',
    ...expiry(expiresAt),
  };
}
