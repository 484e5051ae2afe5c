import { field, items } from '../../../scripts/lib/api-client.ts';
import { SCAN_PNG } from '../neural/pdf.ts';
import { ORGANIZER } from './invitation.ts';
import type { Step } from './reader.ts';

/** The file that the reader uploads. */
function scan(): FormData {
  const form = new FormData();
  form.set('file', new Blob([new Uint8Array(SCAN_PNG)], { type: 'image/png' }), 'scan.png');
  return form;
}
/** Id of the contact that has a picture. */
const withPicture = (body: unknown): unknown =>
  field(
    items(body).find((one) => field(one, 'picture_url')),
    'id',
  );
/** Id of the first event that somebody else organizes. */
const invitation = (body: unknown): unknown =>
  field(
    items(body).find((one) => field(one, 'organizer_email') === ORGANIZER),
    'id',
  );

const CONNECT: readonly Step[] = [
  { try: 'GET /health/live' },
  { try: 'GET /health/ready' },
  { try: 'GET /a/{client_id}' },
  { try: 'PUT /a/{client_id}' },
  { try: 'POST /a/{client_id}' },
  { try: 'POST /connect/integrations' },
  { try: 'GET /connect/integrations' },
  { try: 'GET /connect/integrations/{provider}' },
  { try: 'PATCH /connect/integrations/{provider}' },
  { try: 'POST /connect/detect-provider' },
  { try: 'POST /connect/auth' },
  { try: 'GET /oauth/authorize' },
  { try: 'POST /connect/authorize', saves: { code: 'code' }, secrets: ['code'] },
  { try: 'POST /oauth/token' },
  { try: 'POST /connect/authorize', saves: { code: 'code' }, secrets: ['code'] },
  { try: 'GET /oauth/token', once: true },
  { try: 'POST /connect/authorize', saves: { code: 'code' }, secrets: ['code'] },
  {
    try: 'POST /connect/token',
    saves: { token: 'access_token', account: 'account_id' },
    secrets: ['token'],
  },
  { try: 'GET /account' },
  { try: 'POST /connect/grants', saves: { other: 'data.id' } },
  { try: 'GET /connect/grants' },
  { try: 'GET /connect/grants/{id}' },
  { try: 'PATCH /connect/grants/{id}' },
  { try: 'POST /connect/grants/{id}/sync' },
  { try: 'GET /connect/grants/{id}/sync' },
  { try: 'POST /connect/grants/{id}/tokens' },
  { try: 'GET /connect/grants/{id}/tokens', saves: { token_id: 'data.0.id' } },
];

const MAIL: readonly Step[] = [
  {
    try: 'GET /messages',
    saves: { message: '0.id', other_message: '1.id', thread: '0.thread_id' },
    waits: true,
  },
  { try: 'GET /messages/{id}' },
  { try: 'PUT /messages/{id}' },
  { try: 'PATCH /messages/{id}' },
  { try: 'GET /messages/search' },
  { try: 'GET /threads' },
  { try: 'GET /threads/{id}' },
  { try: 'PUT /threads/{id}' },
  { try: 'PATCH /threads/{id}' },
  { try: 'GET /threads/search' },
  { try: 'POST /folders', saves: { folder: 'id' } },
  { try: 'GET /folders' },
  { try: 'GET /folders/{id}' },
  { try: 'PUT /folders/{id}' },
  { try: 'DELETE /folders/{id}' },
  { try: 'POST /labels', saves: { label: 'id' }, as: 'label_token' },
  { try: 'GET /labels', as: 'label_token' },
  { try: 'GET /labels/{id}', as: 'label_token' },
  { try: 'PUT /labels/{id}', as: 'label_token' },
  { try: 'DELETE /labels/{id}', as: 'label_token' },
  { try: 'POST /files', saves: { file: '0.id' }, files: { 'multipart/form-data': scan } },
  { try: 'GET /files' },
  { try: 'GET /files/{id}' },
  { try: 'GET /files/{id}/download' },
  { try: 'POST /drafts', saves: { draft: 'id' } },
  { try: 'GET /drafts' },
  { try: 'GET /drafts/{id}' },
  { try: 'PUT /drafts/{id}' },
  { try: 'POST /drafts', saves: { draft: 'id' } },
  { try: 'DELETE /drafts/{id}' },
  { try: 'POST /send' },
  { try: 'POST /v2/send' },
  { try: 'POST /v2/outbox', saves: { job: 'job_status_id' } },
  { try: 'GET /v2/outbox' },
  { try: 'GET /v2/outbox/{job_status_id}' },
  { try: 'PATCH /v2/outbox/{job_status_id}' },
  { try: 'PUT /v2/outbox/{job_status_id}' },
  { try: 'GET /job-statuses' },
  { try: 'GET /job-statuses/{job_status_id}' },
  { try: 'DELETE /v2/outbox/{job_status_id}' },
  { try: 'PUT /a/{client_id}/relay' },
  { try: 'GET /a/{client_id}/relay' },
  { try: 'GET /v2/outbox/onboard/verified_status' },
  { try: 'DELETE /v2/outbox/onboard/subuser' },
  { try: 'DELETE /a/{client_id}/relay' },
  { try: 'PUT /neural/sentiment' },
  { try: 'POST /neural/sentiment/feedback' },
  { try: 'PUT /neural/sentiment/feedback', from: { message_id: 'other_message' } },
  { try: 'PUT /neural/categorize' },
  { try: 'POST /neural/categorize/feedback' },
  { try: 'PUT /neural/conversation' },
  { try: 'POST /neural/conversation/feedback' },
  { try: 'PUT /neural/signature' },
  { try: 'POST /neural/signature/feedback' },
  { try: 'PUT /neural/ocr' },
  { try: 'POST /neural/ocr/feedback' },
  { try: 'DELETE /files/{id}' },
];

const CALENDAR: readonly Step[] = [
  { try: 'POST /calendars', saves: { calendar: 'id' } },
  { try: 'GET /calendars' },
  { try: 'GET /calendars/{id}' },
  { try: 'PUT /calendars/{id}' },
  { try: 'PATCH /calendars/{id}' },
  { try: 'POST /calendars/{id}/feed' },
  { try: 'GET /calendars/{id}/feed' },
  { try: 'DELETE /calendars/{id}/feed' },
  { try: 'POST /calendars/availability' },
  { try: 'POST /calendars/availability/consecutive' },
  { try: 'POST /calendars/free-busy' },
  { try: 'POST /events', saves: { event: 'id' } },
  { try: 'GET /events' },
  { try: 'GET /events/{id}' },
  { try: 'PUT /events/{id}' },
  { try: 'PATCH /events/{id}' },
  { try: 'POST /events/{id}' },
  { try: 'POST /events/to-ics' },
  { try: 'GET /events/{id}/invitations' },
  { try: 'GET /events/{id}/notifications' },
  { try: 'DELETE /events/{id}' },
  { try: 'GET /events', saves: { invitation }, waits: true },
  { try: 'POST /send-rsvp', from: { event_id: 'invitation' } },
  { try: 'DELETE /calendars/{id}' },
  { try: 'GET /resources' },
  { try: 'GET /a/{client_id}/conferencing' },
  { try: 'PUT /a/{client_id}/conferencing', saves: { conferencing: 'id' } },
  { try: 'GET /a/{client_id}/conferencing/{id}' },
  { try: 'DELETE /a/{client_id}/conferencing/{id}' },
];

/** What requests about the feed of a webhook name; its first response has the position. */
const FEED = { webhook_id: 'webhook', cursor: 'position' };

const REST: readonly Step[] = [
  { try: 'GET /contacts', saves: { contact: withPicture }, waits: true },
  { try: 'GET /contacts/groups', saves: { group: '0.id' } },
  { try: 'GET /contacts/{id}/picture' },
  { try: 'GET /contacts' },
  { try: 'POST /contacts', saves: { contact: 'id' } },
  { try: 'GET /contacts/{id}' },
  { try: 'PUT /contacts/{id}' },
  { try: 'PATCH /contacts/{id}' },
  { try: 'DELETE /contacts/{id}' },
  { try: 'POST /delta/latest_cursor' },
  { try: 'POST /delta/generate_cursor', saves: { cursor: 'cursor' } },
  { try: 'GET /delta' },
  { try: 'GET /delta/longpoll' },
  { try: 'GET /delta/streaming' },
  { try: 'POST /a/{client_id}/webhooks', saves: { webhook: 'id' } },
  { try: 'GET /a/{client_id}/webhooks' },
  { try: 'GET /a/{client_id}/webhooks/{id}' },
  { try: 'PUT /a/{client_id}/webhooks/{id}' },
  { try: 'GET /a/{client_id}/webhooks/{id}/deliveries' },
  { try: 'POST /a/{client_id}/webhooks/{id}/secrets', saves: { webhook_secret: 'id' } },
  { try: 'GET /a/{client_id}/webhooks/{id}/secrets' },
  { try: 'DELETE /a/{client_id}/webhooks/{id}/secrets/{secret_id}' },
  { try: 'POST /a/{client_id}/webhooks/{id}/replay' },
  { try: 'POST /a/{client_id}/webhooks/{id}/test' },
  { try: 'GET /a/{client_id}/events', from: FEED, saves: { position: 'cursor_end' } },
  { try: 'GET /a/{client_id}/events/streaming', from: FEED },
  { try: 'POST /a/{client_id}/events/ack', from: FEED },
];

const ENDS: readonly Step[] = [
  { try: 'GET /a/{client_id}/ip_addresses' },
  { try: 'GET /a/{client_id}/accounts' },
  { try: 'GET /a/{client_id}/accounts/{id}' },
  { try: 'GET /a/{client_id}/accounts/{id}/completeness' },
  { try: 'PUT /a/{client_id}/accounts/{id}' },
  { try: 'POST /a/{client_id}/accounts/{id}/token-info' },
  { try: 'POST /a/{client_id}/accounts/{id}/downgrade' },
  { try: 'POST /a/{client_id}/accounts/{id}/upgrade' },
  { try: 'POST /a/{client_id}/accounts/{id}/revoke-all' },
  { try: 'GET /a/{client_id}/audit-log' },
  { try: 'DELETE /a/{client_id}/webhooks/{id}' },
  { try: 'POST /oauth/revoke' },
  { try: 'DELETE /connect/grants/{id}/tokens/{token_id}' },
  { try: 'DELETE /connect/grants/{id}' },
  { try: 'DELETE /a/{client_id}/accounts/{id}', from: { id: 'other' } },
  { try: 'DELETE /connect/integrations/{provider}' },
];

/** The operations of `openapi.json` in an order in which each has what it needs. */
export const API_STEPS: readonly Step[] = [...CONNECT, ...MAIL, ...CALENDAR, ...REST];

/** Those that end what the others need, at last the account. */
export const API_ENDS: readonly Step[] = ENDS;

/** The operations of `openapi-admin.json`, while the account and the webhook exist. */
export const ADMIN_STEPS: readonly Step[] = [
  { try: 'GET /admin/me' },
  { try: 'GET /admin/api-use' },
  { try: 'GET /admin/capacity' },
  { try: 'GET /admin/log-level' },
  { try: 'PUT /admin/log-level' },
  { try: 'DELETE /admin/log-level' },
  { try: 'GET /admin/applications/{id}', from: { id: 'client_id' }, saves: { application: 'id' } },
  { try: 'GET /admin/applications' },
  { try: 'PUT /admin/applications/{id}/ceilings' },
  { try: 'PUT /admin/applications/{id}/contact' },
  { try: 'POST /admin/applications/{id}/pause' },
  { try: 'POST /admin/applications/{id}/resume' },
  { try: 'POST /admin/applications/{id}/suspend' },
  { try: 'POST /admin/applications/{id}/unsuspend' },
  { try: 'GET /admin/accounts' },
  { try: 'GET /admin/accounts/{id}' },
  { try: 'POST /admin/accounts/{id}/pause' },
  { try: 'POST /admin/accounts/{id}/resume' },
  { try: 'POST /admin/accounts/{id}/sign-in-link' },
  { try: 'POST /admin/accounts/{id}/tokens' },
  { try: 'GET /admin/accounts/{id}/tokens', saves: { token_id: 'items.0.id' } },
  { try: 'DELETE /admin/accounts/{id}/tokens/{token_id}' },
  { try: 'GET /admin/jobs' },
  { try: 'GET /admin/jobs/{id}' },
  { try: 'GET /admin/jobs/{id}/preview' },
  { try: 'POST /admin/jobs/{id}/retry' },
  { try: 'POST /admin/jobs/{id}/cancel' },
  { try: 'POST /admin/jobs/retry' },
  { try: 'POST /admin/jobs/cancel' },
  { try: 'POST /admin/jobs/release' },
  { try: 'GET /admin/webhooks' },
  { try: 'GET /admin/webhooks/{id}' },
  { try: 'GET /admin/webhooks/{id}/attempts' },
  { try: 'POST /admin/webhooks/{id}/pause' },
  { try: 'POST /admin/webhooks/{id}/activate' },
  { try: 'POST /admin/webhooks/{id}/replay' },
  { try: 'GET /admin/audit-log' },
];

/** Those that end what the others need. */
export const ADMIN_ENDS: readonly Step[] = [
  { try: 'DELETE /admin/accounts/{id}/tokens', from: { id: 'label_account' } },
  { try: 'DELETE /admin/applications/{id}', from: { confirm: 'application_name' } },
  { try: 'GET /admin/applications/deletions' },
];

/** Operations that are not tried, with the reason. */
export const NOT_TRIED: Readonly<Record<string, string>> = {
  'POST /admin/jobs/{id}/release': 'only for a job that several workers died of',
  'POST /admin/jobs/{id}/settle': 'only for a message of unknown outcome',
};
