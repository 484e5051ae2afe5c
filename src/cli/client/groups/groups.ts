import { CALENDAR_GROUPS } from './calendar-groups.ts';
import { call, change, create, list, remove, type Group } from './group.ts';
import { MAIL_GROUPS } from './mail-groups.ts';

const ACCOUNTS = '/a/{client_id}/accounts';
const WEBHOOKS = '/a/{client_id}/webhooks';
const EVENTS = '/a/{client_id}/events';
const EVENT_COLUMNS = ['sequence', 'type', 'object_data.account_id', 'object_data.id', 'event_id'];
const INTEGRATIONS = '/connect/integrations';
const GRANTS = '/connect/grants';

const APPLICATION_GROUPS: Readonly<Record<string, Group>> = {
  account: {
    summary: 'The account of the access token',
    columns: ['id', 'email_address', 'name', 'provider', 'sync_state'],
    actions: { get: call('GET /account', 'Read it') },
  },
  accounts: {
    summary: 'Accounts of the application',
    credentials: 'client secret',
    columns: ['id', 'email', 'provider', 'sync_state', 'billing_state'],
    actions: {
      get: list(ACCOUNTS, 'accounts'),
      put: change('PUT', ACCOUNTS, 'the metadata of an account'),
      delete: remove(ACCOUNTS, 'an account'),
      completeness: call(
        `GET ${ACCOUNTS}/{id}/completeness`,
        'Prove for each day that nothing of an account is missing',
        { columns: ['account_id', 'complete', 'reasons'] },
      ),
      upgrade: call(`POST ${ACCOUNTS}/{id}/upgrade`, 'Start billing'),
      downgrade: call(`POST ${ACCOUNTS}/{id}/downgrade`, 'Cancel it'),
      'revoke-all': call(
        `POST ${ACCOUNTS}/{id}/revoke-all`,
        'Revoke its access tokens, except keep_access_token',
        { body: true },
      ),
      'token-info': call(
        `POST ${ACCOUNTS}/{id}/token-info`,
        'Read the state and scopes of an access_token',
        {
          body: true,
        },
      ),
    },
  },
  applications: {
    summary: 'The application of the client id',
    credentials: 'client secret',
    columns: ['application_name', 'icon_url', 'redirect_uris'],
    actions: {
      get: call('GET /a/{client_id}', 'Read it'),
      put: call('PUT /a/{client_id}', 'Change its name, icon or addresses', { body: true }),
    },
  },
  auth: {
    summary: 'Sign-in links for users',
    credentials: 'client id and secret',
    columns: ['id', 'url', 'expires_at'],
    actions: { post: create('/connect/auth', 'a link') },
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
      sync: call(`POST ${GRANTS}/{id}/sync`, 'Sync its mailbox now'),
      tokens: call(
        `GET ${GRANTS}/{id}/tokens`,
        'List its access tokens, without the tokens themselves',
        {
          columns: ['id', 'state', 'created_at', 'last_used_at', 'expires_at'],
        },
      ),
      'tokens:make': call(`POST ${GRANTS}/{id}/tokens`, 'Create another access token for it', {
        body: true,
        columns: ['id', 'access_token', 'expires_at'],
      }),
      'tokens:revoke': call(
        `DELETE ${GRANTS}/{id}/tokens/{token_id}`,
        'Revoke one of its access tokens',
      ),
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
  'audit-log': {
    summary: 'Who changed the application and its accounts',
    credentials: 'client secret',
    columns: ['at', 'action', 'target', 'actor', 'details'],
    actions: { get: call('GET /a/{client_id}/audit-log', 'List the entries, newest first') },
  },
  'ip-addresses': {
    summary: 'IP addresses that requests of this server come from',
    credentials: 'client secret',
    columns: ['ip_addresses', 'updated_at'],
    actions: { get: call('GET /a/{client_id}/ip_addresses', 'List them') },
  },
  'job-statuses': {
    summary: 'Status of changes and sends',
    columns: ['job_status_id', 'action', 'status', 'send_at', 'reason'],
    actions: { get: list('/job-statuses', 'job statuses') },
  },
  relay: {
    summary: 'The mailing service of the application',
    credentials: 'client secret',
    columns: ['kind', 'settings', 'last_error'],
    actions: {
      get: call('GET /a/{client_id}/relay', 'Read it'),
      put: call('PUT /a/{client_id}/relay', 'Set up or replace it', { body: true }),
      delete: call('DELETE /a/{client_id}/relay', 'Remove it'),
    },
  },
  webhooks: {
    summary: 'Webhooks of the application',
    credentials: 'client secret',
    columns: ['id', 'state', 'delivery', 'callback_url', 'triggers', 'content'],
    actions: {
      get: list(WEBHOOKS, 'webhooks'),
      post: create(WEBHOOKS, 'a webhook'),
      put: change('PUT', WEBHOOKS, 'the state of a webhook'),
      delete: remove(WEBHOOKS, 'a webhook'),
      deliveries: call(
        `GET ${WEBHOOKS}/{id}/deliveries`,
        'List attempts to deliver to it, latest first',
        {
          columns: ['trigger', 'attempt', 'started_at', 'outcome', 'http_status', 'detail'],
        },
      ),
      secrets: call(
        `GET ${WEBHOOKS}/{id}/secrets`,
        'List its signing secrets, without the secrets themselves',
        { columns: ['id', 'created_at', 'expires_at'] },
      ),
      'secrets:make': call(
        `POST ${WEBHOOKS}/{id}/secrets`,
        'Create a signing secret for it; earlier ones end',
        { body: true, columns: ['id', 'secret', 'previous_expires_at'] },
      ),
      'secrets:delete': call(
        `DELETE ${WEBHOOKS}/{id}/secrets/{secret_id}`,
        'Delete one of its signing secrets',
      ),
      replay: call(
        `POST ${WEBHOOKS}/{id}/replay`,
        'Deliver stored events again: {"event_id":…}, {"since":…,"until":…} or {"failed":true}',
        { body: true, columns: ['matched', 'queued', 'running', 'reaches_back_to'] },
      ),
      test: call(`POST ${WEBHOOKS}/{id}/test`, 'Send it an example event of a trigger', {
        body: true,
        columns: ['event_id', 'delivered', 'http_status', 'took_ms', 'detail'],
      }),
      events: call(`GET ${EVENTS}`, 'Read the events of --webhook_id, oldest first', {
        columns: EVENT_COLUMNS,
        patient: true,
      }),
      stream: call(`GET ${EVENTS}/streaming`, 'Print the events of --webhook_id as they occur', {
        lines: true,
        patient: true,
        columns: EVENT_COLUMNS,
      }),
      ack: call(`POST ${EVENTS}/ack`, 'Store how far the events of a webhook are processed', {
        body: true,
        columns: ['webhook_id', 'cursor', 'moved'],
      }),
    },
  },
};

/** the groups of `carillon-api`, by name. A new endpoint group needs one new entry here. */
export const GROUPS: Readonly<Record<string, Group>> = Object.fromEntries(
  Object.entries({ ...APPLICATION_GROUPS, ...CALENDAR_GROUPS, ...MAIL_GROUPS }).sort(([a], [b]) =>
    a < b ? -1 : 1,
  ),
);
