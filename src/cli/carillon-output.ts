import type { Application } from '../accounts/applications/application.entity.ts';
import type { ListedUse } from '../accounts/account-management/list-quota-use.ts';
import type { SmsMessage } from '../calendar/sms/sms-message.entity.ts';
import type { RecordedFailure } from '../sync/sync-failures.ts';
import { formatJson, formatTable } from './api-output.ts';

/** How the operator wants to read it. */
export interface OutputOptions {
  json?: boolean;
}

const APPLICATION_COLUMNS = ['client_id', 'name', 'plan', 'features', 'region', 'created_at'] as const;
const SMS_COLUMNS = ['created_at', 'account_id', 'phone_number', 'text'] as const;
const QUOTA_COLUMNS = ['quota', 'per', 'owner', 'used', 'reached_at'] as const;
const FAILURE_COLUMNS = ['last_at', 'account_id', 'email', 'provider_id', 'times', 'reason'] as const;

const applicationRow = (application: Application, clientSecret?: string) => ({
  client_id: application.clientId,
  ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
  name: application.name,
  plan: application.plan,
  features: application.features,
  region: application.region,
  allow_response_type_token: application.allowsTokenResponse,
  allowed_scopes: application.allowedScopes ?? null,
  access_token_expires_in: application.tokenLifetime ?? null,
  revoke_tokens_on_sign_in: application.revokesOlderTokens,
  created_at: application.createdAt.toISOString(),
});

/** One application; with its secret where it has just been made. */
export function showApplication(
  application: Application,
  { json }: OutputOptions,
  clientSecret?: string,
): string {
  const row = applicationRow(application, clientSecret);
  if (json) return formatJson(row);
  return clientSecret === undefined
    ? formatTable(row, [])
    : `${formatTable(row, [])}\nThe client secret is shown this once: keep it.`;
}

export function showApplications(applications: readonly Application[], { json }: OutputOptions): string {
  const rows = applications.map((application) => applicationRow(application));
  return json ? formatJson(rows) : formatTable(rows, APPLICATION_COLUMNS);
}

export function showSms(
  messages: readonly Pick<SmsMessage, 'id' | 'accountId' | 'phoneNumber' | 'text' | 'createdAt'>[],
  { json }: OutputOptions,
): string {
  const rows = messages.map(({ id, accountId, phoneNumber, text, createdAt }) => ({
    id,
    account_id: accountId,
    phone_number: phoneNumber,
    text,
    created_at: createdAt.toISOString(),
  }));
  return json ? formatJson(rows) : formatTable(rows, SMS_COLUMNS);
}

export function showFailures(failures: readonly RecordedFailure[], { json }: OutputOptions): string {
  const rows = failures.map(({ accountId, email, providerId, reason, firstAt, lastAt, times }) => ({
    account_id: accountId,
    email,
    provider_id: providerId,
    reason,
    times,
    first_at: firstAt.toISOString(),
    last_at: lastAt.toISOString(),
  }));
  return json ? formatJson(rows) : formatTable(rows, FAILURE_COLUMNS);
}

/** What was used of quotas today. */
export function showQuotas(uses: readonly ListedUse[], { json }: OutputOptions): string {
  const rows = uses.map(({ day, quota, per, ownerId, owner, used, alertedAt }) => ({
    day,
    quota,
    per,
    owner_id: ownerId,
    owner: owner ?? ownerId,
    used,
    reached_at: alertedAt?.toISOString() ?? null,
  }));
  return json ? formatJson(rows) : formatTable(rows, QUOTA_COLUMNS);
}
