import { Router } from '../../remote-stub/router.ts';
import type { StubAnswer } from './types.ts';

/** Values of the parts of a path that a route names in braces. */
export type PathValues = Record<string, string>;

/** What answers requests with one method and one form of path. */
export interface Route<Context> {
  method: string;
  /** Such as `messages/{id}/move`, without a slash at the beginning. */
  path: string;
  handle(context: Context, values: PathValues): StubAnswer | Promise<StubAnswer>;
}

/** A router that finds routes. */
export function routerOf<Found extends Route<never>>(routes: readonly Found[]): Router<Found> {
  const router = new Router<Found>();
  for (const route of routes) router.add(route.method, `/${route.path}`, route);
  return router;
}

/**
 * A path of Graph in which functions have neither namespace nor parentheses:
 * `microsoft.graph.delta()` is the same as `delta`.
 */
export const shortPath = (path: string): string =>
  path.replace(/\/microsoft\.graph\./gi, '/').replace(/\(\)$/, '');
