/** An account as a connector sees it. */
export interface ProviderAccount {
  accountId: string;
  applicationId: string;
  /** Lower case. */
  email: string;
  name: string;
  organizationUnit: 'folder' | 'label';
  /** What the connector's `settingsSchema` produced when the account was connected. */
  settings: Readonly<Record<string, unknown>>;
  /** A fresh access token, for an account that has signed in by OAuth; absent for all others. */
  accessToken?: string;
  /** Which of its tokens that is, for whoever keeps them fresh; no connector needs it. Times in Unix milliseconds. */
  token?: { version: number; obtainedAt: number; expiresAt: number | null };
}
