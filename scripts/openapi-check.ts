import fs from 'node:fs';
import { ensureBuilt } from './lib/build.ts';
import { generateOpenApi, OPENAPI_FILE } from './lib/openapi.ts';

await ensureBuilt();
if (fs.readFileSync(OPENAPI_FILE, 'utf8') !== (await generateOpenApi())) {
  process.stderr.write(
    'openapi.json differs from the document that the program serves. Run: npm run openapi:write\n',
  );
  process.exitCode = 1;
}
