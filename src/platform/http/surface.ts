import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { DomainError } from '../base/errors/domain-error.ts';
import type { AppConfig, Region, Surface } from '../config/app-config.ts';

/** Paths of the integrations and grants address (beta manners: error envelope, page size 10). */
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
 * Lets through what this process is meant to answer: the surfaces of `SERVE` in processes with the role `api`, and
 * everywhere the health checks.
 */
export function servedPaths({
  roles,
  surfaces,
}: Pick<AppConfig, 'roles' | 'surfaces'>): RequestHandler {
  return (request: Request, _response: Response, next: NextFunction) => {
    if (HEALTH.test(request.path)) return next();
    if (!roles.includes('api'))
      return next(new ServedElsewhereError('This process only runs due work'));
    const surface: Surface = isIntegrationsPath(request.path) ? 'integrations' : 'main';
    if (surfaces.includes(surface)) return next();
    const where = surface === 'main' ? 'main address' : 'integrations address';
    next(new ServedElsewhereError(`${request.path.slice(0, 200)} is served at the ${where}`));
  };
}

/**
 * The region a request was addressed to, where the two integrations addresses have hosts of their own.
 * @returns undefined where the host says nothing
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
