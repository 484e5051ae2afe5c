/** A question about the client that is registered at the company. */
export interface Question {
  /** Name in the integration's settings. */
  setting: string;
  variable: string;
  question: string;
  isSecret: boolean;
  /** Value without an answer. If absent, an answer is required. */
  fallback?: string;
}

/** What the run asks and explains for one provider. */
export interface ProviderGuide {
  name: string;
  title: string;
  asks: readonly Question[];
  /** Where to register the redirect address, which is printed below; `null` if nowhere. */
  register: string | null;
  /** What is left to do by hand at the end; `null` if nothing is. */
  afterwards: string | null;
  /** Settings for signing in without a page, if the provider needs neither page nor token. */
  password?: Readonly<Record<string, unknown>>;
}

const client = (company: string): Question[] => [
  {
    setting: 'client_id',
    variable: 'LIVE_CLIENT_ID',
    question: `Client id at ${company}`,
    isSecret: false,
  },
  {
    setting: 'client_secret',
    variable: 'LIVE_CLIENT_SECRET',
    question: 'Client secret (not shown)',
    isSecret: true,
  },
];

/** The providers that this program can try, by their names in Carillon. */
export const PROVIDERS: Readonly<Record<string, ProviderGuide>> = {
  google: {
    name: 'google',
    title: 'Google',
    asks: client('Google'),
    register: 'Google Cloud console, Clients: the client must have this authorized redirect URI:',
    afterwards: null,
  },
  microsoft: {
    name: 'microsoft',
    title: 'Microsoft',
    asks: [
      ...client('Microsoft'),
      {
        setting: 'tenant',
        variable: 'LIVE_TENANT',
        question: 'Tenant (empty: common)',
        isSecret: false,
        fallback: 'common',
      },
    ],
    register: 'Entra admin center, app registration, platform "Web": the redirect URI must be:',
    afterwards:
      'Microsoft cannot be asked to revoke tokens. To take the consent back, open https://myapps.microsoft.com (work or school) or https://account.live.com/consent/Manage (personal).',
  },
  sandbox: {
    name: 'sandbox',
    title: 'the sandbox',
    asks: [],
    register: null,
    afterwards: null,
    password: { email: 'ada@sandbox.test', password: 'anything' },
  },
};
