import { monotonicMs } from '../base/time/clock.ts';
import { countResult } from './count-result.ts';
import { providerRequests, providerSeconds } from './sync-metrics.ts';

/**
 * Makes a request to an HTTP service of a provider, counts it and notes its duration.
 * @param service one of a few names, for example `Google`; never a host that a user has named
 */
export async function countOutgoing<R extends { status: number }>(
  service: string,
  request: () => Promise<R>,
): Promise<R> {
  const begunMs = monotonicMs();
  let status = 'none';
  try {
    const response = await request();
    status = String(response.status);
    return response;
  } finally {
    countResult(providerRequests, ['service', service], status);
    providerSeconds.observe({ service }, (monotonicMs() - begunMs) / 1000);
  }
}
