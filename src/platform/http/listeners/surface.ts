import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { DomainError } from '../../base/errors/domain-error.ts';
import type { AppConfig, Region, Surface } from '../../config/app-config.ts';
import { arrivedAtOperators } from './operator-listener.ts';

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
 * Passes on requests that this process serves here. The operators' listener serves their paths, in
 * every role. The main listener serves the surfaces in `SERVE` if the process has the role `api`,
 * and the paths of operators only outside production and without a listener of their own. Both
 * serve health checks. Refuses all others with 404.
 */
export function servedPaths(config: ServedConfig): RequestHandler {
  return (request: Request, _response: Response, next: NextFunction) => {
    if (HEALTH.test(request.path)) return next();
    const elsewhere = isOperatorPath(request.path)
      ? whyNotForOperators(request, config)
      : whyNotForApplications(request, config);
    next(elsewhere === null ? undefined : new ServedElsewhereError(elsewhere));
  };
}

type ServedConfig = Pick<AppConfig, 'environment' | 'operator' | 'roles' | 'surfaces'>;

/** Longest part of a path that an error shows. */
const MOST_PATH = 200;

function whyNotForOperators(request: Request, config: ServedConfig): string | null {
  const { environment, operator, roles } = config;
  const isHere =
    operator.port === null
      ? environment !== 'production' && roles.includes('api')
      : arrivedAtOperators(request);
  return isHere ? null : `There is nothing at ${request.path.slice(0, MOST_PATH)}`;
}

function whyNotForApplications(request: Request, config: ServedConfig): string | null {
  const path = request.path.slice(0, MOST_PATH);
  if (arrivedAtOperators(request))
    return `${path} is not served at the port of operators, only /console, /admin, /metrics and /health`;
  if (!config.roles.includes('api')) return 'This process is a worker and does not serve the API';
  const surface: Surface = isIntegrationsPath(request.path) ? 'integrations' : 'main';
  if (config.surfaces.includes(surface)) return null;
  return `${path} is served at the ${surface === 'main' ? 'main address' : 'integrations address'}`;
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
