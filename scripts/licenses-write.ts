import fs from 'node:fs';
import { LICENSES_FILE, licensesDocument, productionLicenses } from './lib/licenses.ts';

fs.writeFileSync(LICENSES_FILE, licensesDocument(productionLicenses()));
process.stdout.write('Wrote THIRD_PARTY_LICENSES.md\n');
