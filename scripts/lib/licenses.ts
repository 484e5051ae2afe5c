import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './project.ts';

/** Licenses of packages that Carillon may bring along (SPDX identifiers). */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  // Its conditions cover its own files only, and they are shipped unchanged.
  'MPL-2.0',
  'PostgreSQL',
  'Python-2.0',
  'Unlicense',
]);

/**
 * Licenses of packages whose `package.json` has no `license` field in its present form. Each was
 * read in the package: in its old `licenses` field, its LICENSE file or its README.
 */
const READ_IN_THE_PACKAGE: Readonly<Record<string, string>> = {
  busboy: 'MIT',
  'passport-http': 'MIT',
  'passport-http-bearer': 'MIT',
  'passport-strategy': 'MIT',
  pause: 'MIT',
  streamsearch: 'MIT',
};

/** A production package and its license. */
export interface PackageLicense {
  name: string;
  version: string;
  /** SPDX expression, or null if none is known. */
  license: string | null;
}

/** Returns the production packages of package-lock.json, sorted by name, then version. */
export function productionLicenses(): PackageLicense[] {
  const { packages } = JSON.parse(
    fs.readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8'),
  ) as { packages: Record<string, { version?: string; license?: string; dev?: boolean }> };
  const found = new Map<string, PackageLicense>();
  for (const [place, { version = '', license, dev }] of Object.entries(packages)) {
    if (place === '' || dev) continue;
    const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
    found.set(`${name} ${version}`, {
      name,
      version,
      license: license ?? READ_IN_THE_PACKAGE[name] ?? null,
    });
  }
  return [...found.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

/**
 * Whether a package may be brought along: of alternatives (`OR`) one must be allowed, of licenses
 * that apply together (`AND`) all.
 * @param license SPDX expression without nested parentheses
 */
export function isAllowed(license: string | null): boolean {
  if (license === null) return false;
  return license
    .replaceAll(/[()]/g, '')
    .split(' OR ')
    .some((alternative) => alternative.split(' AND ').every((name) => ALLOWED.has(name)));
}

/** Returns the text of `THIRD_PARTY_LICENSES.md`. */
export function licensesDocument(all: readonly PackageLicense[]): string {
  const counts = Map.groupBy(all, ({ license }) => license ?? 'unknown');
  const summary = [...counts].toSorted(([, a], [, b]) => b.length - a.length);
  return `# Licenses of the packages that Carillon brings along

Carillon is licensed under the [Apache License 2.0](LICENSE).
It needs the packages below to run, or can use them.
Each package contains the text of its license, in \`node_modules\` of a clone and of the image.
\`npm run licenses:write\` makes this list from \`package-lock.json\`.
\`npm run check:licenses\` fails if the list is old, or if a package has a license that was not approved.

| License | Packages |
|---|---|
${summary.map(([license, { length }]) => `| ${license} | ${length} |`).join('\n')}

| Package | Version | License |
|---|---|---|
${all.map(({ name, version, license }) => `| ${name} | ${version} | ${license ?? 'unknown'} |`).join('\n')}
`;
}

/** File with the list, as an absolute path. */
export const LICENSES_FILE = path.join(ROOT, 'THIRD_PARTY_LICENSES.md');

/**
 * Returns what is wrong with the licenses: packages without an approved license, and a list that is
 * not current. Empty if nothing is wrong.
 */
export function licenseProblems(all: readonly PackageLicense[], listed: string): string[] {
  const refused = all
    .filter(({ license }) => !isAllowed(license))
    .map(
      ({ name, version, license }) =>
        `${name}@${version}: ${license ?? 'no license is stated'}. Replace the package, or approve the license in scripts/lib/licenses.ts.`,
    );
  const current = listed === licensesDocument(all);
  return current
    ? refused
    : [...refused, 'THIRD_PARTY_LICENSES.md is not current. Run: npm run licenses:write'];
}
