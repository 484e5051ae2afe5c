import type { Request } from 'express';

/** The part of Express' router that is looked at here. */
interface RouterLayer {
  route?: { methods: Record<string, boolean | undefined> };
  match(path: string): boolean;
}

const MOST_METHODS_OF_AN_ENDPOINT = 7;

/**
 * Methods the request's path supports, for the difference between 404 and 405. Empty when there is nothing at the
 * path at all.
 */
export function allowedMethods(request: Request): string[] {
  const { stack } = request.app.router as unknown as { stack: RouterLayer[] };
  const methods = new Set<string>();
  for (const layer of stack) {
    // Nest mounts middleware as a route for every method there is: that is no endpoint.
    if (!layer.route || Object.keys(layer.route.methods).length > MOST_METHODS_OF_AN_ENDPOINT) continue;
    let matches: boolean;
    try {
      matches = layer.match(request.path);
    } catch {
      return []; // a path that cannot be decoded matches nothing
    }
    if (matches) for (const method of Object.keys(layer.route.methods)) methods.add(method.toUpperCase());
  }
  return [...methods].sort();
}
