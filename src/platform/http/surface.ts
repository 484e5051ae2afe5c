import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { DomainError } from '../base/errors/domain-error.ts';
import type { AppConfig, Region, Surface } from '../config/app-config.ts';

/**
 * Whether a path belongs to the address of integrations and grants. That address has its own error
 * envelope and a page size of 10.
 */
export function isIntegrationsPath(path: string): boolean {
  return /^\/connect\/(integrations|grants|auth|login|callback)(\/|$)/.test(path);
}

const HEALTH = /^\/health(\/|$)/;

class ServedElsewhereError extends DomainError {
  constructor(message: string) {
    super('request.served-elsewhere', 'not-found', message);
  }
}

/**
 * Passes on requests that this process serves: the surfaces in `SERVE` if it has the role `api`,
 * and health checks in every process. Refuses all others with 404.
 */
export function servedPaths({
  roles,
  surfaces,
}: Pick<AppConfig, 'roles' | 'surfaces'>): RequestHandler {
  return (request: Request, _response: Response, next: NextFunction) => {
    if (HEALTH.test(request.path)) return next();
    if (!roles.includes('api'))
      return next(new ServedElsewhereError('This process is a worker and does not serve the API'));
    const surface: Surface = isIntegrationsPath(request.path) ? 'integrations' : 'main';
    if (surfaces.includes(surface)) return next();
    const where = surface === 'main' ? 'main address' : 'integrations address';
    next(new ServedElsewhereError(`${request.path.slice(0, 200)} is served at the ${where}`));
  };
}

/**
 * The region of the integrations address that a request was sent to.
 * @returns `undefined` if both regions share one host, or if the host belongs to no region
 */
export function addressedRegion(
  host: string | undefined,
  integrationsUrl: Readonly<Record<Region, string>>,
): Region | undefined {
  const us = new URL(integrationsUrl.us).host;
  const eu = new URL(integrationsUrl.eu).host;
  if (us === eu) return undefined;
  return host === us ? 'us' : host === eu ? 'eu' : undefined;
}
