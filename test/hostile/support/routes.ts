import type { TestApp } from '../../support/test-app.ts';

/** The part of Express' router that is looked at. */
interface RouterLayer {
  route?: { path: string; methods: Record<string, boolean | undefined> };
}

const MOST_METHODS_OF_A_ROUTE = 7;

/**
 * Every route the program has registered, whatever its documentation says: `GET /calendars/{id}`. Names of static files
 * stand without their version and ending.
 */
export function routesOf({ app }: TestApp): string[] {
  const { router } = app.getHttpAdapter().getInstance() as { router: { stack: RouterLayer[] } };
  return router.stack.flatMap(({ route }) => {
    // Nest mounts middleware as a route for every method there is.
    if (!route || Object.keys(route.methods).length > MOST_METHODS_OF_A_ROUTE) return [];
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}').replace(/\.[0-9a-f]{16}\.\w+$/, '');
    return Object.keys(route.methods).map((method) => `${method.toUpperCase()} ${path}`);
  });
}
