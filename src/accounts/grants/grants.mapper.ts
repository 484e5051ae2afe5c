import type { Page } from '../../platform/database/listing.ts';
import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import type { Connection } from './moves/grant-connections.service.ts';
import type { Grant } from './grant.entity.ts';
import type { AccessTokenView } from './tokens/grant-tokens.schema.ts';
import type { ManagedToken } from './tokens/grant-tokens.service.ts';
import type { GrantEnvelope, GrantListView, GrantView, NewGrantEnvelope } from './grants.schema.ts';

export function toGrantView(grant: Grant): GrantView {
  return {
    id: grant.id,
    provider: grant.provider,
    grant_status: grant.status,
    email: grant.email,
    address_proven: Boolean(grant.proof),
    proof: grant.proof ?? null,
    metadata: grant.metadata,
    scope: grant.scope ?? [],
    granted_scope: grant.grantedScope ?? [],
    user_agent: grant.userAgent ?? '',
    ip: grant.ip ?? '',
    state: grant.state ?? '',
    created_at: toUnixSeconds(grant.createdAt),
    updated_at: toUnixSeconds(grant.updatedAt),
  };
}

/** @param settings the settings that are no secrets */
export function toGrantEnvelope(grant: Grant, settings: Record<string, unknown>): GrantEnvelope {
  return { success: true, data: { ...toGrantView(grant), settings } };
}

export function toNewGrantEnvelope({ grant, accessToken }: Connection): NewGrantEnvelope {
  return { success: true, data: { ...toGrantView(grant), access_token: accessToken } };
}

export function toGrantListView(grants: Grant[], page: Page): GrantListView {
  return { data: grants.map(toGrantView), limit: page.limit, offset: page.offset };
}

export function toAccessTokenView(token: ManagedToken): AccessTokenView {
  const { id, state, scopes, createdAt, lastUsedAt, expiresAt, revokedAt } = token;
  const seconds = (at: Date | null) => at && toUnixSeconds(at);
  return {
    id,
    state,
    scope: [...scopes],
    created_at: toUnixSeconds(createdAt),
    last_used_at: seconds(lastUsedAt),
    expires_at: seconds(expiresAt),
    revoked_at: seconds(revokedAt),
  };
}
