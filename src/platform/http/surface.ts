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

/** Whether a path belongs to the console of operators. */
export function isConsolePath(path: string): boolean {
  return /^\/console(\/|$)/.test(path);
}

/** Whether a path belongs to operators: their API, their console, and the metrics. */
export function isOperatorPath(path: string): boolean {
  return /^\/(admin|console|metrics)(\/|$)/.test(path);
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
  environment,
  roles,
  surfaces,
}: Pick<AppConfig, 'environment' | 'roles' | 'surfaces'>): RequestHandler {
  return (request: Request, _response: Response, next: NextFunction) => {
    if (HEALTH.test(request.path)) return next();
    if (isOperatorPath(request.path) && environment === 'production')
      return next(new ServedElsewhereError(`There is nothing at ${request.path.slice(0, 200)}`));
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
