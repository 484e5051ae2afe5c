import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { compiled, ROOT } from './project.ts';
import { withScratchDatabase } from './scratch-database.ts';

/** Names of the committed OpenAPI documents: of the API, and of the API for operators. */
export const OPENAPI_FILES = ['openapi.json', 'openapi-admin.json'] as const;

/** Path of a committed OpenAPI document. */
export const openApiPath = (name: string): string => path.join(ROOT, name);

/** Returns the OpenAPI documents of the built program by file name, as they are committed. */
export async function generateOpenApi(): Promise<Record<(typeof OPENAPI_FILES)[number], string>> {
  const [{ createApp }, documents, { loadConfig }] = await Promise.all([
    import(compiled('app/app')) as Promise<typeof import('../../src/app/app.ts')>,
    import(compiled('app/openapi/document')) as Promise<
      typeof import('../../src/app/openapi/document.ts')
    >,
    import(compiled('platform/config/app-config')) as Promise<
      typeof import('../../src/platform/config/app-config.ts')
    >,
  ]);
  const { migrate } = (await import(
    compiled('app/migrate')
  )) as typeof import('../../src/app/migrate.ts');
  return withScratchDatabase(async (url) => {
    await migrate(url);
    const config = loadConfig({
      DATABASE_URL: url,
      ENCRYPTION_KEYS: `openapi:${randomBytes(32).toString('base64')}`,
      LOG_LEVEL: 'silent',
      ROLES: 'api',
    });
    const app = await createApp(config);
    try {
      const { openApiText, createOpenApiDocument, createAdminOpenApiDocument } = documents;
      return {
        'openapi.json': openApiText(createOpenApiDocument(app)),
        'openapi-admin.json': openApiText(createAdminOpenApiDocument(app)),
      };
    } finally {
      await app.close();
    }
  });
}
