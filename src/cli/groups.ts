/*
 * The groups of the `api` command as data: adding an endpoint group to the client is adding an entry here.
 * Templates hold `{id}` (the positional argument) and `{client_id}` (from the settings).
 */

/** Whose credentials a group needs. */
export type Credentials = 'access token' | 'client secret' | 'client id and secret';

/** One method of a group. */
export interface Action {
  verb: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /** Whether an id has to, may or cannot follow. With `optional` the path without it is the list. */
  id?: 'required' | 'optional';
  /** Whether it sends a body. */
  body?: boolean;
  summary: string;
  /** Columns of its table, where it answers something else than the group's resource. */
  columns?: readonly string[];
}

/** One group: an endpoint group of the API. */
export interface Group {
  summary: string;
  credentials: Credentials;
  /** Columns of `--output=table`; dots go into objects. */
  columns: readonly string[];
  actions: Readonly<Record<string, Action>>;
}

const list = (path: string, what: string): Action => ({
  verb: 'GET',
  path,
  id: 'optional',
  summary: `List ${what}, or read one by its id`,
});
const create = (path: string, what: string): Action => ({
  verb: 'POST',
  path,
  body: true,
  summary: `Create ${what}`,
});
const change = (verb: 'PUT' | 'PATCH', path: string, what: string): Action => ({
  verb,
  path: `${path}/{id}`,
  id: 'required',
  body: true,
  summary: `Change ${what}`,
});
const remove = (path: string, what: string): Action => ({
  verb: 'DELETE',
  path: `${path}/{id}`,
  id: 'required',
  summary: `Delete ${what}`,
});

const ACCOUNTS = '/a/{client_id}/accounts';
const WEBHOOKS = '/a/{client_id}/webhooks';
const INTEGRATIONS = '/connect/integrations';
const GRANTS = '/connect/grants';

export const GROUPS: Readonly<Record<string, Group>> = {
  account: {
    summary: 'The account of the access token',
    credentials: 'access token',
    columns: ['id', 'email_address', 'name', 'provider', 'sync_state'],
    actions: { get: { verb: 'GET', path: '/account', summary: 'Read it' } },
  },
  accounts: {
    summary: 'Accounts of the application',
    credentials: 'client secret',
    columns: ['id', 'email', 'provider', 'sync_state', 'billing_state'],
    actions: {
      get: list(ACCOUNTS, 'accounts'),
      put: change('PUT', ACCOUNTS, 'the metadata of an account'),
      delete: remove(ACCOUNTS, 'an account'),
      upgrade: { verb: 'POST', path: `${ACCOUNTS}/{id}/upgrade`, id: 'required', summary: 'Start billing' },
      downgrade: { verb: 'POST', path: `${ACCOUNTS}/{id}/downgrade`, id: 'required', summary: 'Cancel it' },
      'revoke-all': {
        verb: 'POST',
        path: `${ACCOUNTS}/{id}/revoke-all`,
        id: 'required',
        body: true,
        summary: 'Revoke its access tokens, but for keep_access_token',
      },
      'token-info': {
        verb: 'POST',
        path: `${ACCOUNTS}/{id}/token-info`,
        id: 'required',
        body: true,
        summary: 'State and scopes of an access_token',
      },
    },
  },
  applications: {
    summary: 'The application of the client id',
    credentials: 'client secret',
    columns: ['application_name', 'icon_url', 'redirect_uris'],
    actions: {
      get: { verb: 'GET', path: '/a/{client_id}', summary: 'Read it' },
      put: { verb: 'PUT', path: '/a/{client_id}', body: true, summary: 'Change its name, icon or addresses' },
    },
  },
  calendars: {
    summary: 'Calendars of the account',
    credentials: 'access token',
    columns: ['id', 'name', 'timezone', 'is_primary', 'read_only'],
    actions: {
      get: list('/calendars', 'calendars'),
      post: create('/calendars', 'a calendar'),
      put: change('PUT', '/calendars', 'a calendar'),
      delete: remove('/calendars', 'a calendar'),
    },
  },
  events: {
    summary: 'Events of the account',
    credentials: 'access token',
    columns: ['id', 'title', 'when', 'calendar_id', 'status'],
    actions: {
      get: list('/events', 'events'),
      post: create('/events', 'an event'),
      put: change('PUT', '/events', 'an event'),
      delete: remove('/events', 'an event'),
      notifications: {
        verb: 'GET',
        path: '/events/{id}/notifications',
        id: 'required',
        summary: 'What became of its reminders',
        columns: ['type', 'recipient', 'status', 'due_at', 'sent_at', 'reason'],
      },
    },
  },
  grants: {
    summary: 'Connected accounts, by integration',
    credentials: 'client id and secret',
    columns: ['id', 'email', 'provider', 'grant_status', 'created_at'],
    actions: {
      get: list(GRANTS, 'grants'),
      post: create(GRANTS, 'a grant from credentials'),
      patch: change('PATCH', GRANTS, 'settings, metadata or scopes'),
      delete: remove(GRANTS, 'a grant and revoke its access'),
      sync: { verb: 'POST', path: `${GRANTS}/{id}/sync`, id: 'required', summary: 'Fetch its mailbox now' },
    },
  },
  integrations: {
    summary: 'Providers registered by the application; the id is the name of the provider',
    credentials: 'client id and secret',
    columns: ['id', 'name', 'provider', 'expires_in', 'redirect_uris'],
    actions: {
      get: list(INTEGRATIONS, 'integrations'),
      post: create(INTEGRATIONS, 'an integration'),
      patch: change('PATCH', INTEGRATIONS, 'an integration'),
      delete: remove(INTEGRATIONS, 'an integration'),
    },
  },
  'ip-addresses': {
    summary: 'Addresses that requests of this server come from',
    credentials: 'client secret',
    columns: ['ip_addresses', 'updated_at'],
    actions: { get: { verb: 'GET', path: '/a/{client_id}/ip_addresses', summary: 'List them' } },
  },
  'job-statuses': {
    summary: 'What became of changes and sends',
    credentials: 'access token',
    columns: ['job_status_id', 'action', 'status', 'send_at', 'reason'],
    actions: { get: list('/job-statuses', 'job statuses') },
  },
  messages: {
    summary: 'Messages of the account',
    credentials: 'access token',
    columns: ['id', 'date', 'from', 'subject', 'unread'],
    actions: { get: list('/messages', 'messages') },
  },
  outbox: {
    summary: 'Messages sent in the background, now or later; the id is the job_status_id',
    credentials: 'access token',
    columns: [
      'job_status_id',
      'status',
      'original_data.send_at',
      'original_data.to',
      'original_data.subject',
    ],
    actions: {
      get: list('/v2/outbox', 'waiting messages'),
      post: create('/v2/outbox', 'a message'),
      patch: change('PATCH', '/v2/outbox', 'a message that is not sent yet'),
      put: change('PUT', '/v2/outbox', 'a message that is not sent yet'),
      delete: { ...remove('/v2/outbox', ''), summary: 'Cancel a message that is not sent yet' },
    },
  },
  relay: {
    summary: 'The mailing service of the application',
    credentials: 'client secret',
    columns: ['kind', 'settings', 'last_error'],
    actions: {
      get: { verb: 'GET', path: '/a/{client_id}/relay', summary: 'Read it' },
      put: { verb: 'PUT', path: '/a/{client_id}/relay', body: true, summary: 'Set it up or replace it' },
      delete: { verb: 'DELETE', path: '/a/{client_id}/relay', summary: 'Remove it' },
    },
  },
  webhooks: {
    summary: 'Webhooks of the application',
    credentials: 'client secret',
    columns: ['id', 'state', 'callback_url', 'triggers'],
    actions: {
      get: list(WEBHOOKS, 'webhooks'),
      post: create(WEBHOOKS, 'a webhook'),
      put: change('PUT', WEBHOOKS, 'the state of a webhook'),
      delete: remove(WEBHOOKS, 'a webhook'),
      deliveries: {
        verb: 'GET',
        path: `${WEBHOOKS}/{id}/deliveries`,
        id: 'required',
        summary: 'Attempts to deliver to it, latest first',
        columns: ['trigger', 'attempt', 'started_at', 'outcome', 'http_status', 'detail'],
      },
    },
  },
};

/** Groups of the specification that this version does not serve yet. */
export const MISSING_GROUPS = [
  'contacts', 'delta', 'drafts', 'files', 'folders', 'labels', 'neural', 'resources', 'send', 'send-rsvp', 'threads',
] as const; // prettier-ignore
