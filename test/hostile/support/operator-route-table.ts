/** Who may call a route of operators. */
export type OperatorCaller =
  /** A token of any operator; under `/console` a session. */
  | 'read'
  /** A token or a session of an operator with the role `operate`. */
  | 'operate'
  /** Nobody needs to be signed in: pages without data, and those that sign in. */
  | 'anybody';

/**
 * Every route below `/admin`, `/console` and `/metrics`, and who may call it.
 * `operators.hostile-spec.ts` tries all other callers, and fails for a route that is missing here.
 */
export const OPERATOR_ROUTE_TABLE: Readonly<Record<string, OperatorCaller>> = {
  'GET /admin/openapi.json': 'anybody',
  'GET /admin/docs': 'anybody',
  'GET /admin/docs/try': 'anybody',
  'GET /admin/docs/assets/{file}': 'anybody',

  'GET /metrics': 'anybody',

  'GET /admin/me': 'read',
  'GET /admin/audit-log': 'read',
  'GET /admin/accounts/{id}/tokens': 'read',
  'POST /admin/accounts/{id}/tokens': 'operate',
  'DELETE /admin/accounts/{id}/tokens': 'operate',
  'DELETE /admin/accounts/{id}/tokens/{token_id}': 'operate',

  'GET /admin/accounts': 'read',
  'GET /admin/accounts/{id}': 'read',
  'POST /admin/accounts/{id}/pause': 'operate',
  'POST /admin/accounts/{id}/resume': 'operate',
  'POST /admin/accounts/{id}/sign-in-link': 'operate',
  'GET /admin/applications': 'read',
  'GET /admin/applications/deletions': 'read',
  'GET /admin/applications/{id}': 'read',
  'PUT /admin/applications/{id}/ceilings': 'operate',
  'POST /admin/applications/{id}/pause': 'operate',
  'POST /admin/applications/{id}/resume': 'operate',
  'POST /admin/applications/{id}/suspend': 'operate',
  'POST /admin/applications/{id}/unsuspend': 'operate',
  'DELETE /admin/applications/{id}': 'operate',
  'GET /admin/api-use': 'read',
  'GET /admin/capacity': 'read',

  'GET /admin/jobs': 'read',
  'GET /admin/jobs/{id}': 'read',
  'GET /admin/jobs/{id}/preview': 'operate',
  'POST /admin/jobs/retry': 'operate',
  'POST /admin/jobs/cancel': 'operate',
  'POST /admin/jobs/release': 'operate',
  'POST /admin/jobs/{id}/retry': 'operate',
  'POST /admin/jobs/{id}/cancel': 'operate',
  'POST /admin/jobs/{id}/release': 'operate',

  'GET /admin/webhooks': 'read',
  'GET /admin/webhooks/{id}': 'read',
  'GET /admin/webhooks/{id}/attempts': 'read',
  'POST /admin/webhooks/{id}/replay': 'operate',
  'POST /admin/webhooks/{id}/pause': 'operate',
  'POST /admin/webhooks/{id}/activate': 'operate',

  'GET /console/assets/console': 'anybody',
  'GET /console/assets/icon': 'anybody',
  'GET /console/sign-in': 'anybody',
  'GET /console/sign-in/link': 'anybody',
  'GET /console/sign-in/oidc': 'anybody',
  'GET /console/sign-in/callback': 'anybody',
  'POST /console/sign-in': 'anybody',
  'GET /console': 'read',
  'POST /console/sign-out': 'read',
  'GET /console/accounts': 'read',
  'GET /console/accounts/{id}': 'read',
  'GET /console/accounts/{id}/sign-in-link': 'operate',
  'POST /console/accounts/{id}/sign-in-link': 'operate',
  'GET /console/accounts/{id}/{action}': 'operate',
  'POST /console/accounts/{id}/{action}': 'operate',
  'GET /console/accounts/{id}/tokens/new': 'operate',
  'POST /console/accounts/{id}/tokens': 'operate',
  'GET /console/accounts/{id}/tokens/{tokenId}/revoke': 'operate',
  'POST /console/accounts/{id}/tokens/{tokenId}/revoke': 'operate',
  'GET /console/applications': 'read',
  'GET /console/applications/{id}': 'read',
  'GET /console/applications/{id}/{action}': 'operate',
  'POST /console/applications/{id}/{action}': 'operate',
  'GET /console/capacity': 'read',
  'GET /console/audit': 'read',
  'GET /console/{*path}': 'read',
  'GET /console/log-level': 'read',
  'POST /console/log-level': 'operate',
  'POST /console/log-level/reset': 'operate',
  'GET /console/jobs': 'read',
  'GET /console/jobs/{id}': 'read',
  'GET /console/jobs/actions/{action}': 'operate',
  'POST /console/jobs/actions/{action}': 'operate',
  'GET /console/jobs/{id}/message': 'operate',
  'GET /console/jobs/{id}/message/content': 'operate',
  'GET /console/webhooks': 'read',
  'GET /console/webhooks/{id}': 'read',
  'GET /console/webhooks/{id}/replay': 'operate',
  'GET /console/webhooks/{id}/pause': 'operate',
  'GET /console/webhooks/{id}/activate': 'operate',
  'POST /console/webhooks/{id}/replay': 'operate',
  'POST /console/webhooks/{id}/pause': 'operate',
  'POST /console/webhooks/{id}/activate': 'operate',
  'GET /admin/log-level': 'read',
  'PUT /admin/log-level': 'operate',
  'DELETE /admin/log-level': 'operate',
};
