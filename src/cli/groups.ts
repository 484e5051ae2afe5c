import { CALENDAR_GROUPS } from './api-calendar-groups.ts';
import { change, create, list, remove, type Group } from './api-group.ts';
import { MAIL_GROUPS } from './api-mail-groups.ts';
import { NEURAL } from './api-neural-group.ts';

const ACCOUNTS = '/a/{client_id}/accounts';
const WEBHOOKS = '/a/{client_id}/webhooks';
const INTEGRATIONS = '/connect/integrations';
const GRANTS = '/connect/grants';

/** Groups of the application and its accounts. */
const APPLICATION_GROUPS: Readonly<Record<string, Group>> = {
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
      tokens: {
        verb: 'GET',
        path: `${GRANTS}/{id}/tokens`,
        id: 'required',
        summary: 'List its access tokens, never the tokens themselves',
        columns: ['id', 'state', 'created_at', 'last_used_at', 'expires_at'],
      },
      'tokens:make': {
        verb: 'POST',
        path: `${GRANTS}/{id}/tokens`,
        id: 'required',
        body: true,
        summary: 'Make another access token for it',
        columns: ['id', 'access_token', 'expires_at'],
      },
      'tokens:revoke': {
        verb: 'DELETE',
        path: `${GRANTS}/{id}/tokens/{token_id}`,
        id: 'required',
        tokenId: true,
        summary: 'Revoke one of its access tokens',
      },
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
  neural: NEURAL,
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

/** The groups of the `api` command, by name: adding an endpoint group to the client is adding an entry. */
export const GROUPS: Readonly<Record<string, Group>> = Object.fromEntries(
  Object.entries({ ...APPLICATION_GROUPS, ...CALENDAR_GROUPS, ...MAIL_GROUPS }).sort(([a], [b]) =>
    a < b ? -1 : 1,
  ),
);
