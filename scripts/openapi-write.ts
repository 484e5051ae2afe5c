import fs from 'node:fs';
import { ensureBuilt } from './lib/build.ts';
import { generateOpenApi, openApiPath } from './lib/openapi.ts';

await ensureBuilt();
for (const [name, text] of Object.entries(await generateOpenApi())) {
  fs.writeFileSync(openApiPath(name), text);
  process.stdout.write(`Wrote ${name}\n`);
}
