import { Logger } from '@nestjs/common';
import express, { type Request, type RequestHandler } from 'express';
import type { TrustedProxies } from '../../config/trusted-proxies.ts';
import { arrivedAtOperators } from './operator-listener.ts';

/**
 * Logs one warning per process if requests come through a proxy and `setting` is not set. All
 * clients then share the proxy's address and its limits.
 */
function proxyWarning(setting: string, trusted: TrustedProxies): (request: Request) => void {
  const log = new Logger('TrustProxy');
  let warned = trusted !== false;
  return (request) => {
    if (warned || request.headers['x-forwarded-for'] === undefined) return;
    warned = true;
    log.warn(
      `ignored the X-Forwarded-For header of a request: set ${setting} if a proxy stands in front of this listener`,
    );
  };
}

/**
 * Sets address, protocol and host of requests that arrived at the operators' listener by the
 * proxies that this listener trusts. For all other requests Express sets them, by its setting
 * `trust proxy`.
 * @param main proxies in front of the main listener (`TRUST_PROXY`)
 * @param operators proxies in front of the operators' listener (`OPERATOR_TRUST_PROXY`)
 */
export function findClientAddress(main: TrustedProxies, operators: TrustedProxies): RequestHandler {
  const warnMain = proxyWarning('TRUST_PROXY', main);
  const warnOperators = proxyWarning('OPERATOR_TRUST_PROXY', operators);
  const rules = express().set('trust proxy', operators);
  return (request, _response, next) => {
    if (arrivedAtOperators(request)) {
      // Express reads the setting from `request.app`.
      const view = Object.create(request, { app: { value: rules } }) as Request;
      const { ip, protocol, hostname, host } = view;
      for (const [name, value] of Object.entries({ ip, protocol, hostname, host }))
        Object.defineProperty(request, name, { value });
      warnOperators(request);
    } else {
      warnMain(request);
    }
    next();
  };
}
