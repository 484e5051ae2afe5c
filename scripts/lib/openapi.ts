import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { compiled, ROOT } from './project.ts';
import { withScratchDatabase } from './scratch-database.ts';

/** Path of the committed OpenAPI document. */
export const OPENAPI_FILE = path.join(ROOT, 'openapi.json');

/** Returns the OpenAPI document of the built program, formatted as it is committed. */
export async function generateOpenApi(): Promise<string> {
  const [{ createApp }, { createOpenApiDocument, openApiText }, { loadConfig }] = await Promise.all(
    [
      import(compiled('app/app')) as Promise<typeof import('../../src/app/app.ts')>,
      import(compiled('platform/http/openapi')) as Promise<
        typeof import('../../src/platform/http/openapi.ts')
      >,
      import(compiled('platform/config/app-config')) as Promise<
        typeof import('../../src/platform/config/app-config.ts')
      >,
    ],
  );
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
      return openApiText(createOpenApiDocument(app));
    } finally {
      await app.close();
    }
  });
}
