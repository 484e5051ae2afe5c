import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import type { TokenInfo } from '../grants/tokens/access-tokens.service.ts';
import type { AuditResult } from '../sync-schedule/mirror-audits.ts';
import type { Grant } from '../grants/grant.entity.ts';
import type {
  AccountView,
  ApplicationAccountView,
  ChangedAccountView,
  TokenInfoView,
} from './accounts.schema.ts';
import type { ApplicationAccount } from './application-accounts.service.ts';

/** Finds the provider name that clients see: `ConnectorRegistry`. */
export interface ShownNames {
  shownAs(provider: string): string;
}

/** @param mirror result of the audits; `null` if there is none yet */
export function toAccountView(
  grant: Grant,
  names: ShownNames,
  mirror: AuditResult | null = null,
): AccountView {
  return {
    id: grant.id,
    object: 'account',
    account_id: grant.id,
    name: grant.name,
    email_address: grant.email,
    address_proven: Boolean(grant.proof),
    proof: grant.proof ?? null,
    provider: names.shownAs(grant.provider),
    organization_unit: grant.organizationUnit,
    sync_state: grant.syncState,
    linked_at: toUnixSeconds(grant.linkedAt),
    billing_state: grant.billingState,
    mirror: toMirrorView(mirror),
  };
}

export const toMirrorView = (result: AuditResult | null): AccountView['mirror'] =>
  result && {
    checked_at: result.checkedAt,
    messages_checked: result.messagesChecked,
    differences_found: result.differencesFound,
    repaired: result.repaired,
    missing: result.missing,
    surplus: result.surplus,
    misplaced: result.misplaced,
    unrepaired: result.unrepaired,
    folders_skipped: result.foldersSkipped,
    events: result.events,
    contacts: result.contacts,
  };

export function toApplicationAccountView(
  account: ApplicationAccount,
  names: ShownNames,
): ApplicationAccountView {
  const { id, email, provider, proof, syncState, billingState, metadata, mirror } = account;
  return {
    id,
    account_id: id,
    email,
    address_proven: Boolean(proof),
    proof: proof ?? null,
    provider: names.shownAs(provider),
    // The two groups of endpoints use different words for the same state.
    sync_state: syncState === 'invalid' ? 'invalid-credentials' : syncState,
    billing_state: billingState,
    trial: false,
    authentication_type: account.byOauth ? 'oauth' : 'password',
    // Clients read a map of texts here, and fail on any other value.
    metadata: Object.fromEntries(
      Object.entries(metadata).map(([key, value]) => [key, String(value)]),
    ),
    sending_paused: account.pause?.text ?? null,
    mirror: toMirrorView(mirror),
  };
}

export function toChangedAccountView(
  account: ApplicationAccount,
  names: ShownNames,
): ChangedAccountView {
  return { success: 'true', ...toApplicationAccountView(account, names) };
}

export function toTokenInfoView(info: TokenInfo): TokenInfoView {
  return {
    created_at: toUnixSeconds(info.createdAt),
    updated_at: toUnixSeconds(info.updatedAt),
    scopes: info.scopes.join(','),
    state: info.valid ? 'valid' : 'invalid',
  };
}
