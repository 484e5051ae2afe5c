/** Context that an encrypted client secret is bound to. */
export const applicationSecretContext = (applicationId: string): string =>
  `application.secret:${applicationId}`;
