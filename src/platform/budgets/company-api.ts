/** An API of a company, and what the company counts there. */
interface ApiDescription {
  company: 'google' | 'microsoft';
  /** For people. */
  title: string;
  counts: 'units' | 'requests';
  /** The setting with the ceiling of an application; `null` if the API has none. */
  ceilingSetting: string | null;
}

/** The APIs whose use is counted for each application (docs/adr/0125). */
export const COMPANY_APIS = {
  gmail: {
    company: 'google',
    title: 'Gmail',
    counts: 'units',
    ceilingSetting: 'QUOTA_APPLICATION_GMAIL_UNITS',
  },
  'google-calendar': {
    company: 'google',
    title: 'Google Calendar',
    counts: 'requests',
    ceilingSetting: null,
  },
  'google-people': {
    company: 'google',
    title: 'Google Contacts (People)',
    counts: 'requests',
    ceilingSetting: null,
  },
  'google-directory': {
    company: 'google',
    title: 'Google Workspace Directory',
    counts: 'requests',
    ceilingSetting: null,
  },
  'microsoft-graph': {
    company: 'microsoft',
    title: 'Microsoft Graph',
    counts: 'requests',
    ceilingSetting: 'QUOTA_APPLICATION_GRAPH_REQUESTS',
  },
} as const satisfies Record<string, ApiDescription>;

export type CompanyApi = keyof typeof COMPANY_APIS;

/** What is known about an API. */
export const describeApi = (api: CompanyApi): ApiDescription => COMPANY_APIS[api];

/** The most that one application may use in a day, by API. Absent or 0 = no ceiling. */
export type Ceilings = Readonly<Partial<Record<CompanyApi, number>>>;
