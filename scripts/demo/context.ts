import type { ApiClient, Caller } from '../lib/api-client.ts';
import type { Receiver } from './receiver.ts';
import type { Report } from '../lib/report.ts';
import type { TemporaryServer } from '../lib/temporary-server.ts';

/** A connected account of the demo. */
export interface DemoAccount extends Caller {
  email: string;
  accountId: string;
}

/** The application of the demo. */
export interface DemoApplication {
  clientId: string;
  clientSecret: string;
  /** Calls to the integrations address. */
  integrations: Caller;
  /** Calls under /a/{client_id}. */
  owner: Caller;
}

/** What every step can use. */
export interface DemoContext {
  report: Report;
  server: TemporaryServer;
  api: ApiClient;
  receiver: Receiver;
}

/** The application and the accounts, available once both accounts are connected. */
export interface Cast extends DemoContext {
  application: DemoApplication;
  ada: DemoAccount;
  bo: DemoAccount;
}

/** Current time in seconds since 1970, the unit of the API. */
export function unixNow(): number {
  return Math.floor(Date.now() / 1000);
}

/** Local time of day as hh:mm:ss. */
export function clock(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toTimeString().slice(0, 8);
}
