/** Names of the passport strategies of operators. */
export const OPERATOR_STRATEGY = {
  token: 'operator-token',
  session: 'operator-session',
} as const;
