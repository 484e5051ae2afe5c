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
  'GET /admin/docs/assets/{file}': 'anybody',

  'GET /metrics': 'anybody',

  'GET /admin/me': 'read',

  'GET /console/assets/console': 'anybody',
  'GET /console/assets/icon': 'anybody',
  'GET /console/sign-in': 'anybody',
  'GET /console/sign-in/link': 'anybody',
  'POST /console/sign-in': 'anybody',
  'GET /console': 'read',
  'POST /console/sign-out': 'read',
  'GET /admin/log-level': 'read',
  'PUT /admin/log-level': 'operate',
  'DELETE /admin/log-level': 'operate',
};
