import { toAccountView } from '../accounts/accounts.mapper.ts';
import type { Connection } from '../grants/grant-connections.service.ts';
import type { ConnectedAccountView, DetectedProviderView } from './connect.schema.ts';
import type { DetectedProvider } from './detect-provider.ts';

export function toConnectedAccountView({ grant, accessToken }: Connection): ConnectedAccountView {
  return { ...toAccountView(grant), access_token: accessToken };
}

export function toDetectedProviderView(email: string, found: DetectedProvider): DetectedProviderView {
  return {
    auth_name: found.providerName,
    detected: found.detected,
    email_address: email,
    is_imap: found.isImap,
    provider_name: found.providerName,
  };
}
