import fs from 'node:fs';
import path from 'node:path';
import { ROOT, runCommand } from './lib/project.ts';

/*
 * `npm run docs` writes the pages of docs/ as a static site with search to website/dist. The first
 * run installs the site generator into website/, which nothing else needs.
 */
const website = path.join(ROOT, 'website');
const pages = path.join(website, 'docs');

async function run(command: string): Promise<void> {
  const { code } = await runCommand(command, 'inherit');
  if (code !== 0) process.exit(code);
}

if (!fs.existsSync(path.join(website, 'node_modules'))) await run('npm ci --prefix website');
fs.rmSync(pages, { recursive: true, force: true });
fs.cpSync(path.join(ROOT, 'docs'), pages, { recursive: true });
fs.copyFileSync(path.join(website, 'home.md'), path.join(pages, 'index.md'));
await run('npm run --silent --prefix website build');
process.stdout.write('Wrote website/dist. Look at it: npm run preview --prefix website\n');
