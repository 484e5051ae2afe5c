import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../../scripts/lib/project.ts';
import { pagePaths, readPage } from '../support/docs/pages.ts';

/** The anchor of a heading, as GitHub and VitePress make it. */
const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const withoutCode = (text: string): string => text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');

const anchors = new Map<string, Set<string>>();
function anchorsOf(page: string): Set<string> {
  const known = anchors.get(page);
  if (known) return known;
  const found = new Set<string>();
  for (const [, heading = ''] of withoutCode(readPage(page)).matchAll(/^#{1,6} (.+)$/gm)) {
    const anchor = anchorOf(heading);
    let unique = anchor;
    for (let count = 1; found.has(unique); count += 1) unique = `${anchor}-${count}`;
    found.add(unique);
  }
  anchors.set(page, found);
  return found;
}

/** What is wrong with a link, or `null`. */
function faultOf(page: string, link: string): string | null {
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? page : path.posix.join(path.posix.dirname(page), file);
  if (!fs.existsSync(path.join(ROOT, target))) return `${page}: ${link}: there is no such file`;
  if (anchor === undefined || !target.endsWith('.md')) return null;
  return anchorsOf(target).has(anchor) ? null : `${page}: ${link}: there is no such heading`;
}

describe('links', () => {
  it('of pages lead to files and headings that exist', () => {
    const pages = [...pagePaths(), 'CHANGELOG.md'];
    const faults = pages.flatMap((page) =>
      [...withoutCode(readPage(page)).matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, link = '']) => link)
        .filter((link) => !/^[a-z]+:/.test(link))
        .flatMap((link) => faultOf(page, link) ?? []),
    );
    expect(faults).toEqual([]);
  });

  it('of code and of files of deployment lead to pages and headings that exist', () => {
    const files = ['src', 'deploy', 'scripts', 'test', 'bench', 'migrations'].flatMap((folder) =>
      fs
        .readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .map((file) => `${folder}/${file}`)
        .filter((file) => /\.(ts|mjs|js|yml|yaml|sql|json|service)$/.test(file))
        .filter((file) => !file.includes('doc-links')),
    );
    const named = files.flatMap((file) =>
      [
        ...fs
          .readFileSync(path.join(ROOT, file), 'utf8')
          .matchAll(/\bdocs\/[a-z0-9/-]+\.md(?:#[a-z0-9-]+)?/g),
      ].map(([link]) => ({ file, link })),
    );
    expect(named.length).toBeGreaterThan(100);
    const faults = named.flatMap(({ file, link }) => {
      const fault = faultOf('README.md', link);
      return fault === null ? [] : [`${file}: ${fault}`];
    });
    expect(faults).toEqual([]);
  });
});
