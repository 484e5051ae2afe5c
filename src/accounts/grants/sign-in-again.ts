import type { AppConfig } from '../../platform/config/app-config.ts';

/** What a link needs to know. `redirectUri`: the first registered one; `null` if there is none. */
export interface SignInAgain {
  clientId: string;
  /** Region of the application. */
  region: string;
  redirectUri: string | null;
  provider: string;
  email: string;
}

let addresses: Readonly<Record<string, string>> = {};

/** Sets the addresses of the sign-in pages by region, when the process starts. */
export function setSignInAddresses({ integrationsUrl }: AppConfig): void {
  addresses = integrationsUrl;
}

/**
 * Address of the sign-in page on which the user of an account authenticates again. It has no secret
 * and does not expire. The user returns to the first redirect address of the application, with a
 * code as after any sign-in (docs/hosted-sign-in.md).
 * @returns `null` if the application has registered no redirect address
 */
export function signInUrl(account: SignInAgain): string | null {
  const { clientId, region, redirectUri, provider, email } = account;
  const base = addresses[region];
  if (base === undefined || redirectUri === null) return null;
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    provider,
    login_hint: email,
  });
  return `${base}/oauth/authorize?${query.toString()}`;
}
