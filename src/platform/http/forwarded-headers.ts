import { Logger } from '@nestjs/common';
import type { RequestHandler } from 'express';
import type { TrustedProxies } from '../config/trusted-proxies.ts';

/**
 * Logs one warning per process if requests come through a proxy and `TRUST_PROXY` is not set. All
 * clients then share the proxy's address and its limits.
 */
export function watchForwardedHeaders(trusted: TrustedProxies): RequestHandler {
  const log = new Logger('TrustProxy');
  let warned = trusted !== false;
  return (request, _response, next) => {
    if (!warned && request.headers['x-forwarded-for'] !== undefined) {
      warned = true;
      log.warn(
        'ignored the X-Forwarded-For header of a request: set TRUST_PROXY if a proxy stands in front of this server',
      );
    }
    next();
  };
}
