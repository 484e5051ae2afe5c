import fs from 'node:fs';
import { ensureBuilt } from './lib/build.ts';
import { generateOpenApi, openApiPath } from './lib/openapi.ts';

await ensureBuilt();
for (const [name, text] of Object.entries(await generateOpenApi())) {
  if (fs.readFileSync(openApiPath(name), 'utf8') === text) continue;
  process.stderr.write(
    `${name} differs from the document that the program serves. Run: npm run openapi:write\n`,
  );
  process.exitCode = 1;
}
