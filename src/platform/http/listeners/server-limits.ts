import type { Server } from 'node:http';

/**
 * Limits for one client before its request can be authenticated. Node answers 408 and closes a
 * connection that exceeds a time. Node itself limits the size of the request line and headers (16
 * kB, 431).
 */
export const SERVER_LIMITS = {
  /** Milliseconds for the headers of a request. Cuts off clients that send byte by byte. */
  headersTimeout: 15_000,
  /**
   * Milliseconds for a whole request. Enough for 500 MB of uploads on a fast line, 25 MB on a slow
   * one.
   */
  requestTimeout: 300_000,
  /** Milliseconds between two checks of the times above. */
  connectionsCheckingInterval: 5_000,
  /**
   * Milliseconds. Longer than the idle limits of common load balancers: the server must not be the
   * first to close.
   */
  keepAliveTimeout: 65_000,
  /**
   * Open connections of a process. Further connections are closed at once. Each client that waits
   * for deltas uses one.
   */
  maxConnections: 10_000,
  /** Maximum number of header fields; further fields are dropped. */
  maxHeadersCount: 200,
} as const;

/** Applies the limits. Call it before the server listens. */
export function limitServer(server: Server): void {
  Object.assign(server, SERVER_LIMITS);
}
