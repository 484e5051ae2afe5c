import fs from 'node:fs';
import { CLIENT_TYPES_FILE, clientTypes } from './lib/client-types.ts';
import { openApiPath } from './lib/openapi.ts';

const expected = await clientTypes(fs.readFileSync(openApiPath('openapi.json'), 'utf8'));
if (fs.readFileSync(CLIENT_TYPES_FILE, 'utf8') !== expected) {
  process.stderr.write(
    'The types of clients/typescript differ from openapi.json. Run: npm run client:write\n',
  );
  process.exitCode = 1;
}
