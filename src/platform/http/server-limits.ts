import type { Server } from 'node:http';

/**
 * What one client may cost before there is a request that can be judged. Node ends connections that exceed a time with 408.
 * The size of addresses and headers is limited by Node itself (16 kB, 431).
 */
export const SERVER_LIMITS = {
  /** Milliseconds for the headers of a request; after that a client that sends byte by byte is cut off. */
  headersTimeout: 15_000,
  /** Milliseconds for a whole request: 500 MB of uploads on a fast line, 25 MB on a slow one. */
  requestTimeout: 300_000,
  /** How often the two times above are looked at. */
  connectionsCheckingInterval: 5_000,
  /** Longer than the idle limits of common load balancers: the server must not be the first to close. */
  keepAliveTimeout: 65_000,
  /** Open connections of a process; more are closed at once. Watchers of deltas hold one each. */
  maxConnections: 10_000,
  /** Fields of a header; more are left out. */
  maxHeadersCount: 200,
} as const;

/** Sets the limits; call it before the server listens. */
export function limitServer(server: Server): void {
  Object.assign(server, SERVER_LIMITS);
}
