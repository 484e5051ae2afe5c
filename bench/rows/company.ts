import { type StubProcess, startStub } from '../processes/stub.ts';
import type { World } from '../world.ts';
import type { ConnectedMailbox, Program } from './program.ts';

/** A company with a stub. */
export type Company = 'google' | 'microsoft';

/** A mailbox with labels, at a company some distance away. */
const LABELS = 20;
const LATENCY_MS = 150;

/** What a stub reports, summed up. */
export interface StubUse {
  /** Highest use of a quota, as a share of what is allowed; never above 1 because it refuses. */
  highest: number;
  refusals: number;
  violations: number;
  /** Requests for mail so far, and their quota units (Google) or requests again (Microsoft). */
  requests: number;
  units: number;
}

/** Starts the stub of a company with a large mailbox. It stops with the run if it still runs. */
export async function startDistantStub(world: World, company: Company): Promise<StubProcess> {
  const stub = await startStub(company, {
    messages: world.scale.mailboxMessages,
    labels: LABELS,
    latencyMs: LATENCY_MS,
  });
  world.own(stub);
  return stub;
}

/** Environment of a program that talks to the stub instead of the company. */
export function addressesOf(company: Company, { origin }: StubProcess): Record<string, string> {
  return company === 'google'
    ? { GOOGLE_URL: origin }
    : { MICROSOFT_LOGIN_URL: origin, MICROSOFT_GRAPH_URL: origin };
}

/** Posts a body to the program. @throws {Error} if the status is no success */
export async function call<T>(port: number, path: string, authorization: string, body: object) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

/** Registers the stub's client and connects its person with a refresh token. */
export async function connect(
  { port }: Program,
  { application }: World,
  company: Company,
  stub: StubProcess,
): Promise<ConnectedMailbox> {
  const { clientId, clientSecret } = application;
  const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  await call(port, '/connect/integrations', basic, {
    name: company,
    provider: company,
    settings: { client_id: stub.clientId, client_secret: stub.clientSecret },
    redirect_uris: ['https://app.example.test/callback'],
  });
  const { data, error } = await call<{
    data?: { id: string; access_token: string };
    error?: unknown;
  }>(port, '/connect/grants', basic, {
    provider: company,
    settings: { refresh_token: stub.refreshToken },
  });
  if (!data) throw new Error(`the account was not connected: ${JSON.stringify(error)}`);
  return { id: data.id, token: data.access_token };
}

interface GoogleReport {
  violations: unknown[];
  quotas: Record<
    string,
    { limit: number; highest: number; refusals: number; total: { units: number; requests: number } }
  >;
}
interface MicrosoftReport {
  violations: unknown[];
  limits: Record<string, number>;
  use: Record<string, number>;
}

/** Sums up the report of a stub. */
export function useOf(company: Company, report: unknown): StubUse {
  if (company === 'google') {
    const { violations, quotas } = report as GoogleReport;
    const all = Object.values(quotas);
    return {
      highest: Math.max(...all.map(({ limit, highest }) => highest / limit)),
      refusals: all.reduce((sum, { refusals }) => sum + refusals, 0),
      violations: violations.length,
      ...quotas['gmail']!.total,
    };
  }
  return microsoftUse(report as MicrosoftReport);
}

function microsoftUse({ violations, limits, use }: MicrosoftReport): StubUse {
  const share = (used: string, limit: string) => (use[used] ?? 0) / (limits[limit] ?? 1);
  return {
    highest: Math.max(
      share('mostRequests', 'requestsPerWindow'),
      share('mostConcurrent', 'concurrentRequests'),
      share('mostSends', 'sendsPerMinute'),
    ),
    refusals: use['refusals'] ?? 0,
    violations: violations.length,
    requests: use['requests'] ?? 0,
    units: use['requests'] ?? 0,
  };
}
