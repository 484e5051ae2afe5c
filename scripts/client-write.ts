import fs from 'node:fs';
import { CLIENT_TYPES_FILE, clientTypes } from './lib/client-types.ts';
import { openApiPath } from './lib/openapi.ts';

fs.writeFileSync(
  CLIENT_TYPES_FILE,
  await clientTypes(fs.readFileSync(openApiPath('openapi.json'), 'utf8')),
);
process.stdout.write('Wrote the types of clients/typescript\n');
