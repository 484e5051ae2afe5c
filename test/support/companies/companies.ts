import { google } from './google-company.ts';
import { microsoft } from './microsoft-company.ts';

/** Google and Microsoft, for suites that run for both. */
export const COMPANIES = [google, microsoft] as const;
