/** Names of the passport strategies of accounts and applications. */
export const STRATEGY = {
  accessTokenBearer: 'access-token-bearer',
  accessTokenBasic: 'access-token-basic',
  applicationBasic: 'application-basic',
  applicationSecret: 'application-secret',
} as const;
