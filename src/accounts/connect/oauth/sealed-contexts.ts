/** Context that the encrypted request of a code is bound to. */
export const authorizationCodeContext = (codeId: string): string =>
  `authorization_code.request:${codeId}`;

/** Contexts that the encrypted values of a login request are bound to. */
export const loginPendingContext = (id: string): string => `login_request.pending:${id}`;
export const loginSettingsContext = (id: string): string => `login_request.settings:${id}`;
