import type { AccountPrincipal, ApplicationPrincipal } from './principal.ts';

/**
 * Turns what a caller presented into who it is. Nothing is kept: a token or secret that was revoked is refused from the
 * next request on, by every process (docs/adr/0023). Accounts implement it.
 */
export abstract class Credentials {
  /** @returns undefined for an unknown, revoked or expired token */
  abstract accountByToken(token: string): Promise<AccountPrincipal | undefined>;

  /** @returns undefined unless the pair is right */
  abstract applicationBySecret(
    clientId: string,
    secret: string,
  ): Promise<ApplicationPrincipal | undefined>;
}
