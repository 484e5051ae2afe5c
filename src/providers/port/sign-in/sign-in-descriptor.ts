/** How a provider appears on the sign-in pages and under which names requests may ask for it. */
export interface SignInDescriptor {
  /** Place among the providers on the pages: lower first. */
  readonly order: number;
  /** Shown to users, such as `Google`. */
  readonly title: string;
  /** One line below the title. */
  readonly hint: string;
  /**
   * The form with address and password. `null` if accounts of this provider sign in at the provider
   * only.
   */
  readonly password: PasswordForm | null;
  /**
   * Whether a sign-in that a browser starts itself offers this provider without an integration:
   * always, only if the application has no integration at all, or never.
   */
  readonly withoutIntegration: 'always' | 'if-there-is-none' | 'never';
  /** Further provider names that requests may use, such as `gmail`. */
  readonly names: readonly string[];
  /** Whether OAuth offers have the title of the integration instead of the provider's. */
  readonly namedByIntegration?: boolean;
}

export interface PasswordForm {
  /** Heading of the page. */
  readonly heading: string;
  /** Below the password field. */
  readonly passwordHint: string;
  readonly passwordRequired: boolean;
  /**
   * Whether users may name mail servers. Error texts about such servers then hide what a scanner
   * could use.
   */
  readonly servers: boolean;
}

/** The provider of an address, as far as it was detected. */
export interface DetectedProvider {
  /** Provider name for `/connect/authorize`. */
  providerName: string;
  /** Whether the provider is used by IMAP and SMTP with a password. */
  isImap: boolean;
}
