import fs from 'node:fs';

interface Package {
  name?: string;
  version?: string;
}

/** The version in package.json: in the root of the project, also of the compiled program. */
export function ownVersion(): string {
  for (const file of ['../../../package.json', '../../../../package.json']) {
    const url = new URL(file, import.meta.url);
    if (!fs.existsSync(url)) continue;
    const { version } = JSON.parse(fs.readFileSync(url, 'utf8')) as Package;
    if (version !== undefined) return version;
  }
  return 'unknown';
}
