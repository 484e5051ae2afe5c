import { NEURAL } from './api-neural-group.ts';

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
  /** Sends files of this machine, named by their paths; or writes bytes, to the path behind the id. */
  transfer?: 'upload' | 'download';
  summary: string;
  /** Whether the server takes its time to answer, half an hour and more. */
  patient?: boolean;
  /** Whether the answer is lines that are to be shown as they come; empty ones are none. */
  lines?: boolean;
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
const CONFERENCING = '/a/{client_id}/conferencing';
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
  auth: {
    summary: 'Sign-in links for users',
    credentials: 'client id and secret',
    columns: ['id', 'url', 'expires_at'],
    actions: { post: create('/connect/auth', 'a link') },
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
      feed: {
        verb: 'GET',
        path: '/calendars/{id}/feed',
        id: 'required',
        summary: 'Whether it can be read at a secret address',
        columns: ['calendar_id', 'created_at'],
      },
      'feed:make': {
        verb: 'POST',
        path: '/calendars/{id}/feed',
        id: 'required',
        summary: 'Make a secret address of it; one made before ends',
        columns: ['url'],
      },
      'feed:revoke': {
        verb: 'DELETE',
        path: '/calendars/{id}/feed',
        id: 'required',
        summary: 'End its secret address',
      },
      'free-busy': {
        verb: 'POST',
        path: '/calendars/free-busy',
        body: true,
        summary: 'When people have no time',
        columns: ['email', 'calendar_id', 'time_slots'],
      },
      availability: {
        verb: 'POST',
        path: '/calendars/availability',
        body: true,
        summary: 'When people could meet',
        columns: ['time_slots', 'order'],
      },
      'availability:consecutive': {
        verb: 'POST',
        path: '/calendars/availability/consecutive',
        body: true,
        summary: 'When several meetings could follow each other',
      },
    },
  },
  conferencing: {
    summary: 'The services that make meetings for events',
    credentials: 'client secret',
    columns: ['id', 'provider', 'kind', 'settings', 'last_error'],
    actions: {
      get: list(CONFERENCING, 'services'),
      put: { verb: 'PUT', path: CONFERENCING, body: true, summary: 'Set one up or replace it' },
      delete: remove(CONFERENCING, 'a service'),
    },
  },
  contacts: {
    summary: 'Contacts of the account',
    credentials: 'access token',
    columns: ['id', 'given_name', 'surname', 'emails', 'source'],
    actions: {
      get: list('/contacts', 'contacts'),
      post: create('/contacts', 'a contact'),
      put: change('PUT', '/contacts', 'a contact'),
      delete: remove('/contacts', 'a contact'),
      groups: {
        verb: 'GET',
        path: '/contacts/groups',
        summary: 'List groups of contacts',
        columns: ['id', 'name', 'path'],
      },
      picture: {
        verb: 'GET',
        path: '/contacts/{id}/picture',
        id: 'required',
        transfer: 'download',
        summary: 'Write its picture to the path behind the id, or to standard output',
      },
    },
  },
  delta: {
    summary: 'What changes in the account; --cursor=… says from where, 0 from the beginning',
    credentials: 'access token',
    columns: ['cursor_start', 'cursor_end', 'deltas'],
    actions: {
      'latest-cursor': {
        verb: 'POST',
        path: '/delta/latest_cursor',
        summary: 'A cursor for everything from now on',
        columns: ['cursor'],
      },
      get: { verb: 'GET', path: '/delta', summary: 'What has changed' },
      longpoll: {
        verb: 'GET',
        path: '/delta/longpoll',
        summary: 'Wait until something changes',
        patient: true,
      },
      streaming: {
        verb: 'GET',
        path: '/delta/streaming',
        summary: 'Print changes as they happen, a line of JSON each',
        patient: true,
        lines: true,
      },
    },
  },
  drafts: {
    summary: 'Drafts of the account; changing and deleting need their version',
    credentials: 'access token',
    columns: ['id', 'date', 'to', 'subject', 'version'],
    actions: {
      get: list('/drafts', 'drafts'),
      post: create('/drafts', 'a draft'),
      put: change('PUT', '/drafts', 'a draft'),
      delete: { ...remove('/drafts', 'a draft'), body: true },
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
      invitations: {
        verb: 'GET',
        path: '/events/{id}/invitations',
        id: 'required',
        summary: 'What its participants were told, and what became of it',
        columns: ['email', 'kind', 'sequence', 'status', 'reason', 'job_status_id'],
      },
      'to-ics': {
        verb: 'POST',
        path: '/events/to-ics',
        body: true,
        summary: 'An event as an iCalendar file',
        columns: ['ics'],
      },
    },
  },
  files: {
    summary: 'Uploads, and attachments of messages',
    credentials: 'access token',
    columns: ['id', 'filename', 'content_type', 'size'],
    actions: {
      get: list('/files', 'files'),
      upload: {
        verb: 'POST',
        path: '/files',
        transfer: 'upload',
        summary: 'Upload files, named by their paths',
      },
      download: {
        verb: 'GET',
        path: '/files/{id}/download',
        id: 'required',
        transfer: 'download',
        summary: 'Write its bytes to the path behind the id, or to standard output',
      },
      delete: remove('/files', 'an upload'),
    },
  },
  folders: {
    summary: 'Folders of an account that has them',
    credentials: 'access token',
    columns: ['id', 'name', 'display_name'],
    actions: {
      get: list('/folders', 'folders'),
      post: create('/folders', 'a folder'),
      put: change('PUT', '/folders', 'the name of a folder'),
      delete: remove('/folders', 'a folder'),
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
  labels: {
    summary: 'Labels of an account that has them',
    credentials: 'access token',
    columns: ['id', 'name', 'display_name'],
    actions: {
      get: list('/labels', 'labels'),
      post: create('/labels', 'a label'),
      put: change('PUT', '/labels', 'the name of a label'),
      delete: remove('/labels', 'a label'),
    },
  },
  messages: {
    summary: 'Messages of the account',
    credentials: 'access token',
    columns: ['id', 'date', 'from', 'subject', 'unread'],
    actions: {
      get: list('/messages', 'messages'),
      put: change('PUT', '/messages', 'flags, folder or labels, and metadata'),
      search: { verb: 'GET', path: '/messages/search', summary: 'Search them: --q="from:bo zeppelin"' },
    },
  },
  neural: NEURAL,
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
  resources: {
    summary: 'Rooms that meetings can be held in',
    credentials: 'access token',
    columns: ['email', 'name', 'capacity', 'building', 'floor_name'],
    actions: { get: { verb: 'GET', path: '/resources', summary: 'List rooms' } },
  },
  send: {
    summary: 'Messages sent at once; the answer says what came of it',
    credentials: 'access token',
    columns: ['id', 'date', 'to', 'subject', 'thread_id'],
    actions: {
      post: {
        verb: 'POST',
        path: '/send',
        body: true,
        summary: 'Send a message, or a stored draft by its draft_id and version',
      },
    },
  },
  'send-rsvp': {
    summary: 'Answers to invitations',
    credentials: 'access token',
    columns: ['id', 'title', 'when', 'participants', 'job_status_id'],
    actions: {
      post: {
        verb: 'POST',
        path: '/send-rsvp',
        body: true,
        summary: 'Answer an event_id with the status yes, no or maybe, and a comment',
      },
    },
  },
  threads: {
    summary: 'Conversations of the account',
    credentials: 'access token',
    columns: ['id', 'last_message_timestamp', 'participants', 'subject', 'unread'],
    actions: {
      get: list('/threads', 'threads'),
      put: change('PUT', '/threads', 'flags, folder or labels of all messages of a thread'),
      search: { verb: 'GET', path: '/threads/search', summary: 'Search them: --q="from:bo zeppelin"' },
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
