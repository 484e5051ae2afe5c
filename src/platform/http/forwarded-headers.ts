import { Logger } from '@nestjs/common';
import type { RequestHandler } from 'express';
import type { TrustedProxies } from '../config/trusted-proxies.ts';

/**
 * Warns once per process when requests come through a proxy although `TRUST_PROXY` is not set: all clients share the address of
 * the proxy then, and its limits.
 */
export function watchForwardedHeaders(trusted: TrustedProxies): RequestHandler {
  const log = new Logger('TrustProxy');
  let warned = trusted !== false;
  return (request, _response, next) => {
    if (!warned && request.headers['x-forwarded-for'] !== undefined) {
      warned = true;
      log.warn(
        'a request came with X-Forwarded-For, which is ignored: set TRUST_PROXY if a proxy stands in front of this server',
      );
    }
    next();
  };
}
