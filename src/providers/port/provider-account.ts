/** An account as a connector sees it. */
export interface ProviderAccount {
  accountId: string;
  applicationId: string;
  /** Lower case. */
  email: string;
  name: string;
  organizationUnit: 'folder' | 'label';
  /** The output of the connector's `settingsSchema` when the account was connected. */
  settings: Readonly<Record<string, unknown>>;
  /** A fresh access token. Absent for accounts that did not sign in by OAuth. */
  accessToken?: string;
  /** The provider's scopes of `accessToken`. Absent if they are not known. */
  providerScopes?: readonly string[];
  /**
   * Version and times of `accessToken`, for the `TokenSource`; connectors do not need it. Times in
   * Unix milliseconds.
   */
  token?: { version: number; obtainedAt: number; expiresAt: number | null };
}
