import type { ApiClient, Caller } from './api-client.ts';
import type { Receiver } from './receiver.ts';
import type { Report } from './report.ts';
import type { DemoServer } from './server.ts';

/** A connected account of the demo. */
export interface DemoAccount extends Caller {
  email: string;
  accountId: string;
}

/** The application of the demo. */
export interface DemoApplication {
  clientId: string;
  clientSecret: string;
  /** On the integrations address. */
  integrations: Caller;
  /** Under /a/{client_id}. */
  owner: Caller;
}

/** What every step has at hand. */
export interface DemoContext {
  report: Report;
  server: DemoServer;
  api: ApiClient;
  receiver: Receiver;
}

/** The cast, once everybody is connected. */
export interface Cast extends DemoContext {
  application: DemoApplication;
  ada: DemoAccount;
  bo: DemoAccount;
}

/** Seconds since 1970, as the API counts. */
export function unixNow(): number {
  return Math.floor(Date.now() / 1000);
}

/** A time of day for a person. */
export function clock(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toTimeString().slice(0, 8);
}
