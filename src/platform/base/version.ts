import fs from 'node:fs';

/** The version of this release: that of `package.json`, which lies above `src` and `dist`. */
export const VERSION = versionAbove(new URL('.', import.meta.url));

function versionAbove(folder: URL): string {
  const file = new URL('package.json', folder);
  if (fs.existsSync(file))
    return (JSON.parse(fs.readFileSync(file, 'utf8')) as { version: string }).version;
  const above = new URL('..', folder);
  if (above.href === folder.href) throw new Error('There is no package.json above the program');
  return versionAbove(above);
}
