import fs from 'node:fs';
import path from 'node:path';
import { makeSbom } from './lib/sbom.ts';
import { ROOT } from './lib/project.ts';

/** `npm run sbom [file]` writes the bill of materials, by default to dist/sbom.cdx.json. */
const file = path.resolve(ROOT, process.argv[2] ?? 'dist/sbom.cdx.json');
fs.mkdirSync(path.dirname(file), { recursive: true });
fs.writeFileSync(file, makeSbom());
process.stdout.write(`Wrote ${path.relative(ROOT, file)}\n`);
