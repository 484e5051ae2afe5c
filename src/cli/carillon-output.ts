import type { Application } from '../accounts/applications/application.entity.ts';
import type { ListedAudit, ListedTotal } from '../accounts/sync-schedule/mirror-audits.ts';
import type { ListedUse } from '../accounts/account-management/list-quota-use.ts';
import type { SmsMessage } from '../calendar/sms/sms-message.entity.ts';
import type { ListedWatch } from '../accounts/push/list-subscriptions.ts';
import type { RecordedFailure } from '../sync/sync-failures.ts';
import { formatJson, formatTable } from './api-output.ts';

/** Output format that the operator has chosen. */
export interface OutputOptions {
  json?: boolean;
}

const APPLICATION_COLUMNS = [
  'client_id',
  'name',
  'plan',
  'features',
  'region',
  'created_at',
] as const;

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

/** One application, with its client secret if it is new. */
export function showApplication(
  application: Application,
  { json }: OutputOptions,
  clientSecret?: string,
): string {
  const row = applicationRow(application, clientSecret);
  if (json) return formatJson(row);
  return clientSecret === undefined
    ? formatTable(row, [])
    : `${formatTable(row, [])}\nThe client secret is shown only this once: store it now.`;
}

export function showApplications(
  applications: readonly Application[],
  { json }: OutputOptions,
): string {
  const rows = applications.map((application) => applicationRow(application));
  return json ? formatJson(rows) : formatTable(rows, APPLICATION_COLUMNS);
}

/** A row in the names of the API, with times in ISO 8601. */
const readable = (row: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value instanceof Date ? value.toISOString() : (value as unknown),
    ]),
  );

function showRows(
  rows: readonly object[],
  columns: readonly string[],
  { json }: OutputOptions,
): string {
  const shown = rows.map(readable);
  return json ? formatJson(shown) : formatTable(shown, columns);
}

type ShownSms = Pick<SmsMessage, 'id' | 'accountId' | 'phoneNumber' | 'text' | 'createdAt'>;

export function showSms(messages: readonly ShownSms[], options: OutputOptions): string {
  return showRows(messages, ['created_at', 'account_id', 'phone_number', 'text'], options);
}

export function showFailures(failures: readonly RecordedFailure[], options: OutputOptions): string {
  const columns = ['last_at', 'account_id', 'email', 'provider_id', 'times', 'retry_at', 'reason'];
  return showRows(failures, columns, options);
}

/** @param pushUrl address that providers notify; `null` if there is none */
export function showWatches(
  watches: readonly ListedWatch[],
  pushUrl: string | null,
  options: OutputOptions,
): string {
  if (options.json) return formatJson({ push_url: pushUrl, watches: watches.map(readable) });
  const columns = [
    'state', 'kind', 'provider', 'name', 'resource', 'expires_at', 'notified_at', 'failures', 'error',
  ]; // prettier-ignore
  const where =
    pushUrl === null
      ? 'Providers cannot notify this server: set PUSH_URL or BASE_URL to a public https address.'
      : `Providers notify ${pushUrl}/push/….`;
  return `${showRows(watches, columns, options)}\n${where}`;
}

export function showAudits(audits: readonly ListedAudit[], options: OutputOptions): string {
  const columns = [
    'checked_at', 'overdue_since', 'account_id', 'email', 'messages_checked', 'missing', 'surplus', 'misplaced',
    'repaired', 'unrepaired', 'folders_skipped', 'events_checked', 'events_repaired', 'events_skipped',
    'contacts_checked', 'contacts_repaired', 'contacts_skipped',
  ]; // prettier-ignore
  return showRows(audits, columns, options);
}

export function showAuditTotals(totals: readonly ListedTotal[], options: OutputOptions): string {
  const columns = ['kind', 'audits', 'compared', 'missing', 'surplus', 'changed', 'repaired', 'skipped']; // prettier-ignore
  return showRows(totals, columns, options);
}

export function showQuotas(uses: readonly ListedUse[], options: OutputOptions): string {
  const rows = uses.map(({ alertedAt, owner, ...use }) => ({
    ...use,
    owner: owner ?? use.ownerId,
    reachedAt: alertedAt,
  }));
  return showRows(rows, ['quota', 'per', 'owner', 'used', 'reached_at'], options);
}
