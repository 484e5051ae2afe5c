import type { AccountPrincipal, ApplicationPrincipal } from './principal.ts';

/**
 * Finds the account or application that presented credentials. Results are not cached, so every
 * process refuses a revoked token or secret from the next request on (docs/adr/0023). Implemented
 * by the accounts module.
 */
export abstract class Credentials {
  /**
   * @returns `undefined` if the token is unknown, revoked or expired
   * @throws {ApplicationSuspendedError}
   */
  abstract accountByToken(token: string): Promise<AccountPrincipal | undefined>;

  /**
   * @returns `undefined` if the client id is unknown or the secret is wrong
   * @throws {ApplicationSuspendedError}
   */
  abstract applicationBySecret(
    clientId: string,
    secret: string,
  ): Promise<ApplicationPrincipal | undefined>;
}
