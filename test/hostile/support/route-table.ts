import type { Scope } from '../../../src/platform/auth/scopes.ts';

/** The caller that a route accepts. */
export type Caller =
  /** The access token of an account. */
  | 'account'
  /** `client_id:client_secret`. */
  | 'application'
  /** The client secret as user name, under `/a/{client_id}`. */
  | 'secret'
  /** No credentials are needed; `why` names what protects the data. */
  | 'anybody';

/** Expectations for one route. */
export interface RouteRow {
  caller: Caller;
  /** Any one of these scopes is enough. `null` if a token with any scope is accepted. */
  scopes: readonly Scope[] | null;
  /** Whether the route is refused while the provider credentials are out of date. */
  write: boolean;
  /** Status of a valid request by the right caller. Default: below 300. */
  right?: number;
  /** What protects a route that needs no credentials. */
  why?: string;
  /**
   * Action that a valid request leaves in the audit log; `null` for a route of an application that
   * changes no configuration. Every route of applications that is no GET names one of the two.
   */
  audit?: string | null;
}

const account = (scopes: readonly Scope[] | null, more: Partial<RouteRow> = {}): RouteRow => ({
  caller: 'account',
  scopes,
  write: false,
  ...more,
});
/** A route that changes something at the provider. */
const write = (scopes: readonly Scope[], more: Partial<RouteRow> = {}) =>
  account(scopes, { write: true, ...more });
const application = (more: Partial<RouteRow> = {}): RouteRow => ({
  caller: 'application',
  scopes: null,
  write: false,
  ...more,
});
const secret = (more: Partial<RouteRow> = {}): RouteRow => ({
  ...application(more),
  caller: 'secret',
});
const anybody = (why: string): RouteRow => ({ caller: 'anybody', scopes: null, write: false, why });

// Repeated on purpose: a change in src/platform/auth/scopes.ts must be made here too.
const READ_MAIL: Scope[] = ['email', 'email.modify', 'email.read_only'];
const MOVE_MAIL: Scope[] = ['email', 'email.modify', 'email.folders_and_labels'];
const READ_FOLDERS: Scope[] = [...READ_MAIL, 'email.folders_and_labels', 'email.metadata'];
const READ_DRAFTS: Scope[] = [...READ_MAIL, 'email.drafts'];
const WRITE_DRAFTS: Scope[] = ['email', 'email.modify', 'email.drafts'];
const WRITE_FILES: Scope[] = [...WRITE_DRAFTS, 'email.send'];
const SEND: Scope[] = ['email', 'email.send'];
const READ_CALENDAR: Scope[] = ['calendar', 'calendar.read_only'];
const FREE_BUSY: Scope[] = [...READ_CALENDAR, 'calendar.free_busy'];
const CALENDAR: Scope[] = ['calendar'];
const READ_CONTACTS: Scope[] = ['contacts', 'contacts.read_only'];
const CONTACTS: Scope[] = ['contacts'];
/** The response leaves out kinds of objects that the token may not read. */
const ANY_OBJECT: Scope[] = [...READ_FOLDERS, 'email.drafts', ...READ_CALENDAR, ...READ_CONTACTS];

/** The test account has folders, and therefore no labels. */
const WITHOUT_LABELS = { right: 404 };
/** The webhook is inactive, because its address does not exist. */
const INACTIVE = { right: 409 };
const PAGES = 'pages of the hosted sign-in: a secret link and a cookie in the same browser';
const DOCS = 'documentation without data';
const PUSH = 'the secret of a subscription, or a signature of the provider';

/**
 * Every route of the program, and who may call it. `authorization.hostile-spec.ts` tries all other
 * callers, and fails for a route that is missing here.
 */
export const ROUTE_TABLE: Readonly<Record<string, RouteRow>> = {
  'GET /health/live': anybody('reports only that the process runs'),
  'GET /health/ready': anybody('reports only which parts work'),
  'GET /openapi.json': anybody(DOCS),
  'GET /docs': anybody(DOCS),
  'GET /docs/try': anybody(DOCS),
  'GET /docs/assets/{file}': anybody(DOCS),
  'GET /': anybody(DOCS),

  'GET /oauth/authorize': anybody('begins a sign-in, for registered redirect addresses'),
  'GET /oauth/token': anybody('the client secret and a code, in the request'),
  'POST /oauth/token': anybody('the client secret and a code, in the request'),
  'POST /oauth/revoke': account(null, { audit: 'token.revoke' }),
  'POST /connect/authorize': anybody('gives a code, which is useless without the client secret'),
  'POST /connect/token': anybody('the client secret and a code, in the body'),
  'POST /connect/detect-provider': anybody('the client secret, in the body'),
  'GET /connect/login': anybody(PAGES),
  'GET /connect/login/cancel': anybody(PAGES),
  'GET /connect/login/consent': anybody(PAGES),
  'GET /connect/login/credentials': anybody(PAGES),
  'GET /connect/login/deny': anybody(PAGES),
  'GET /connect/login/done': anybody(PAGES),
  'GET /connect/login/provider': anybody(PAGES),
  'POST /connect/login/cancel': anybody(PAGES),
  'POST /connect/login/consent': anybody(PAGES),
  'POST /connect/login/credentials': anybody(PAGES),
  'POST /connect/login/deny': anybody(PAGES),
  'POST /connect/login/provider': anybody(PAGES),
  'GET /connect/login/icon': anybody('a picture'),
  'GET /connect/login/sign-in': anybody('a style sheet'),
  'GET /connect/callback': anybody('the state of a sign-in in progress, and its cookie'),
  'GET /feeds/{file}': anybody('a secret address'),
  'GET /t/o': anybody('a signature in the query'),
  'GET /t/c': anybody('a signature in the query'),
  'GET /push/{provider}': anybody(PUSH),
  'GET /push/{provider}/{integration}': anybody(PUSH),
  'POST /push/{provider}': anybody(PUSH),
  'POST /push/{provider}/{integration}': anybody(PUSH),

  'POST /connect/auth': application({ right: 400, audit: null }), // its redirect address is not registered
  'GET /connect/integrations': application(),
  'POST /connect/integrations': application({ audit: 'integration.create' }),
  'GET /connect/integrations/{provider}': application(),
  'PATCH /connect/integrations/{provider}': application({ audit: 'integration.update' }),
  'DELETE /connect/integrations/{provider}': application({ audit: 'integration.remove' }),
  'GET /connect/grants': application(),
  'POST /connect/grants': application({ audit: 'account.connect' }),
  'GET /connect/grants/{id}': application(),
  'PATCH /connect/grants/{id}': application({ audit: 'account.update' }),
  'DELETE /connect/grants/{id}': application({ audit: 'account.delete' }),
  'GET /connect/grants/{id}/sync': application(),
  'POST /connect/grants/{id}/sync': application({ audit: null }),
  'GET /connect/grants/{id}/tokens': application(),
  'POST /connect/grants/{id}/tokens': application({ audit: 'token.create' }),
  'DELETE /connect/grants/{id}/tokens/{token_id}': application({ right: 404, audit: null }), // there is no token with that id

  'GET /a/{client_id}': secret(),
  'POST /a/{client_id}': secret({ audit: 'application.update' }),
  'PUT /a/{client_id}': secret({ audit: 'application.update' }),
  'GET /a/{client_id}/accounts': secret(),
  'GET /a/{client_id}/accounts/{id}/completeness': secret(),
  'GET /a/{client_id}/accounts/{id}': secret(),
  'PUT /a/{client_id}/accounts/{id}': secret({ audit: 'account.update' }),
  'DELETE /a/{client_id}/accounts/{id}': secret({ audit: 'account.delete' }),
  'POST /a/{client_id}/accounts/{id}/downgrade': secret({ audit: 'account.cancel' }),
  'POST /a/{client_id}/accounts/{id}/upgrade': secret({ audit: null }), // the account is not cancelled
  'POST /a/{client_id}/accounts/{id}/revoke-all': secret({ audit: 'token.revoke-all' }),
  'POST /a/{client_id}/accounts/{id}/token-info': secret({ audit: null }),
  'GET /a/{client_id}/conferencing': secret(),
  'PUT /a/{client_id}/conferencing': secret({ audit: 'conferencing.set' }),
  'GET /a/{client_id}/conferencing/{id}': secret(),
  'DELETE /a/{client_id}/conferencing/{id}': secret({ audit: 'conferencing.remove' }),
  'GET /a/{client_id}/audit-log': secret(),
  'GET /a/{client_id}/ip_addresses': secret(),
  'GET /a/{client_id}/relay': secret(),
  'PUT /a/{client_id}/relay': secret({ audit: 'relay.set' }),
  'DELETE /a/{client_id}/relay': secret({ audit: 'relay.remove' }),
  'GET /a/{client_id}/webhooks': secret(),
  'POST /a/{client_id}/webhooks': secret({ audit: 'webhook.create' }),
  'GET /a/{client_id}/webhooks/{id}': secret(),
  'PUT /a/{client_id}/webhooks/{id}': secret({ audit: 'webhook.update' }),
  'DELETE /a/{client_id}/webhooks/{id}': secret({ audit: 'webhook.delete' }),
  'GET /a/{client_id}/webhooks/{id}/deliveries': secret(),
  'GET /a/{client_id}/webhooks/{id}/secrets': secret(),
  'POST /a/{client_id}/webhooks/{id}/secrets': secret({ audit: 'webhook.create-secret' }),
  'DELETE /a/{client_id}/webhooks/{id}/secrets/{secret_id}': secret({
    audit: 'webhook.delete-secret',
  }),
  'POST /a/{client_id}/webhooks/{id}/replay': secret({ ...INACTIVE, audit: null }),
  'POST /a/{client_id}/webhooks/{id}/test': secret({ ...INACTIVE, audit: null }),
  'GET /a/{client_id}/events': secret(INACTIVE),
  'GET /a/{client_id}/events/streaming': secret(INACTIVE),
  'POST /a/{client_id}/events/ack': secret({ audit: null }),

  'GET /account': account(null),
  'GET /job-statuses': account(null),
  'GET /job-statuses/{job_status_id}': account(null),

  'GET /messages': account(READ_MAIL),
  'GET /messages/search': account(READ_MAIL),
  'GET /messages/{id}': account(READ_MAIL),
  'PUT /messages/{id}': write(MOVE_MAIL),
  'PATCH /messages/{id}': write(MOVE_MAIL),
  'GET /threads': account(READ_MAIL),
  'GET /threads/search': account(READ_MAIL),
  'GET /threads/{id}': account(READ_MAIL),
  'PUT /threads/{id}': write(MOVE_MAIL),
  'PATCH /threads/{id}': write(MOVE_MAIL),
  'GET /folders': account(READ_FOLDERS),
  'POST /folders': write(MOVE_MAIL),
  'GET /folders/{id}': account(READ_FOLDERS),
  'PUT /folders/{id}': write(MOVE_MAIL),
  'DELETE /folders/{id}': write(MOVE_MAIL),
  'GET /labels': account(READ_FOLDERS, WITHOUT_LABELS),
  'POST /labels': write(MOVE_MAIL, WITHOUT_LABELS),
  'GET /labels/{id}': account(READ_FOLDERS, WITHOUT_LABELS),
  'PUT /labels/{id}': write(MOVE_MAIL, WITHOUT_LABELS),
  'DELETE /labels/{id}': write(MOVE_MAIL, WITHOUT_LABELS),
  'GET /files': account(READ_DRAFTS),
  'POST /files': write(WRITE_FILES, { right: 400 }), // the request has no file
  'GET /files/{id}': account(READ_DRAFTS),
  'GET /files/{id}/download': account(READ_DRAFTS),
  'DELETE /files/{id}': write(WRITE_FILES, { right: 400 }), // the file is part of a message
  'GET /drafts': account(READ_DRAFTS),
  'POST /drafts': write(WRITE_DRAFTS),
  'GET /drafts/{id}': account(READ_DRAFTS),
  'PUT /drafts/{id}': write(WRITE_DRAFTS),
  'DELETE /drafts/{id}': write(WRITE_DRAFTS),

  'POST /send': write(SEND),
  'POST /v2/send': write(SEND),
  'GET /v2/outbox': account(SEND),
  'POST /v2/outbox': write(SEND),
  'GET /v2/outbox/{job_status_id}': account(SEND),
  'PUT /v2/outbox/{job_status_id}': write(SEND),
  'PATCH /v2/outbox/{job_status_id}': write(SEND),
  'DELETE /v2/outbox/{job_status_id}': account(SEND),
  'GET /v2/outbox/onboard/verified_status': account(SEND),
  'DELETE /v2/outbox/onboard/subuser': account(SEND, { audit: 'relay.remove-sender' }),

  'GET /delta': account(ANY_OBJECT),
  'GET /delta/longpoll': account(ANY_OBJECT),
  'GET /delta/streaming': account(ANY_OBJECT),
  'POST /delta/generate_cursor': account(ANY_OBJECT),
  'POST /delta/latest_cursor': account(ANY_OBJECT),

  'GET /calendars': account(READ_CALENDAR),
  'POST /calendars': write(CALENDAR),
  'GET /calendars/{id}': account(READ_CALENDAR),
  'PUT /calendars/{id}': write(CALENDAR),
  'PATCH /calendars/{id}': write(CALENDAR),
  'DELETE /calendars/{id}': write(CALENDAR),
  'GET /calendars/{id}/feed': account(READ_CALENDAR),
  'POST /calendars/{id}/feed': account(CALENDAR, { audit: 'calendar-feed.create' }),
  'DELETE /calendars/{id}/feed': account(CALENDAR, { audit: 'calendar-feed.remove' }),
  'POST /calendars/availability': account(FREE_BUSY),
  'POST /calendars/availability/consecutive': account(FREE_BUSY),
  'POST /calendars/free-busy': account(FREE_BUSY),
  'GET /events': account(READ_CALENDAR),
  'POST /events': write(CALENDAR),
  'POST /events/to-ics': account(READ_CALENDAR),
  'GET /events/{id}': account(READ_CALENDAR),
  'PUT /events/{id}': write(CALENDAR),
  'PATCH /events/{id}': write(CALENDAR),
  'POST /events/{id}': write(CALENDAR),
  'DELETE /events/{id}': write(CALENDAR),
  'GET /events/{id}/invitations': account(READ_CALENDAR),
  'GET /events/{id}/notifications': account(READ_CALENDAR),
  'POST /send-rsvp': write(CALENDAR),
  'GET /resources': account(['room_resources.read_only']),

  'GET /contacts': account(READ_CONTACTS),
  'POST /contacts': write(CONTACTS),
  'GET /contacts/groups': account(READ_CONTACTS),
  'GET /contacts/{id}': account(READ_CONTACTS),
  'PUT /contacts/{id}': write(CONTACTS),
  'PATCH /contacts/{id}': write(CONTACTS),
  'DELETE /contacts/{id}': write(CONTACTS),
  'GET /contacts/{id}/picture': account(READ_CONTACTS, { right: 404 }), // the contact has none

  'PUT /neural/sentiment': account(READ_MAIL),
  'PUT /neural/signature': account(READ_MAIL),
  'PUT /neural/conversation': account(READ_MAIL),
  'PUT /neural/categorize': account(READ_MAIL),
  'PUT /neural/ocr': account(READ_DRAFTS, { right: 400 }), // its file is not a picture
  'POST /neural/sentiment/feedback': account(READ_MAIL),
  'PUT /neural/sentiment/feedback': account(READ_MAIL, { right: 409 }), // POST was sent before
  'POST /neural/signature/feedback': account(READ_MAIL),
  'POST /neural/conversation/feedback': account(READ_MAIL),
  'POST /neural/categorize/feedback': account(READ_MAIL),
  'POST /neural/ocr/feedback': account(READ_DRAFTS),
};
