import fs from 'node:fs';
import { ensureBuilt } from './lib/build.ts';
import { generateOpenApi, OPENAPI_FILE } from './lib/openapi.ts';

await ensureBuilt();
fs.writeFileSync(OPENAPI_FILE, await generateOpenApi());
process.stdout.write('Wrote openapi.json\n');
