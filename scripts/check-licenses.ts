import fs from 'node:fs';
import { licenseProblems, LICENSES_FILE, productionLicenses } from './lib/licenses.ts';

const listed = fs.existsSync(LICENSES_FILE) ? fs.readFileSync(LICENSES_FILE, 'utf8') : '';
const problems = licenseProblems(productionLicenses(), listed);
for (const problem of problems) process.stdout.write(`${problem}\n`);
if (problems.length > 0) process.exitCode = 1;
