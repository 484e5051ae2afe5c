import { isOperatorPath } from '../../../src/platform/http/listeners/surface.ts';
import type { TestApp } from '../../support/test-app.ts';

/** The part of Express' router that is read here. */
interface RouterLayer {
  route?: { path: string; methods: Record<string, boolean | undefined> };
}

const MOST_METHODS_OF_A_ROUTE = 7;

/**
 * Every route that the program has registered, documented or not, such as `GET /calendars/{id}`.
 * Names of static files appear without version and extension.
 */
export function routesOf({ app }: TestApp): string[] {
  const { router } = app.getHttpAdapter().getInstance() as { router: { stack: RouterLayer[] } };
  return router.stack.flatMap(({ route }) => {
    // Nest registers middleware as a route with every method.
    if (!route || Object.keys(route.methods).length > MOST_METHODS_OF_A_ROUTE) return [];
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}').replace(/\.[0-9a-f]{16}\.\w+$/, '');
    return Object.keys(route.methods).map((method) => `${method.toUpperCase()} ${path}`);
  });
}

/** Whether a route such as `GET /admin/me` belongs to operators; their table is of its own. */
export function isOfOperators(route: string): boolean {
  return isOperatorPath(route.split(' ')[1] ?? '');
}
