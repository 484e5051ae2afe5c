import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './project.ts';

/** Files that name the program's version, with a pattern whose first group is the version. */
const VERSIONED: readonly (readonly [file: string, pattern: RegExp])[] = [
  ['package.json', /"version": "([^"]+)"/],
  ['package-lock.json', /"version": "([^"]+)"/],
  ['clients/typescript/package.json', /"version": "([^"]+)"/],
  ['deploy/kubernetes/kustomization.yaml', /newTag: (\S+)/],
];

/** Thrown if a release is not prepared. The message lists what is missing. */
export class ReleaseError extends Error {}

/**
 * Returns the text of a version's section in CHANGELOG.md, without its heading.
 * @returns undefined if there is no such section
 */
export function sectionOf(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((each) => each.split(/[\s\n]/)[0] === version);
  return section?.slice(section.indexOf('\n')).trim();
}

/**
 * Returns the release notes of a tag such as `v1.2.3`.
 * @param read reads a file of the project; undefined if there is none
 * @throws {ReleaseError} if the tag, a file in `VERSIONED` and the changelog do not agree
 */
export function releaseNotes(
  tag: string,
  read: (file: string) => string | undefined = readProject,
): string {
  const version = tag.replace(/^v/, '');
  const problems = VERSIONED.flatMap(([file, pattern]) => {
    const named = pattern.exec(read(file) ?? '')?.[1];
    return named === version ? [] : [`${file} names version ${named ?? '(none)'}, not ${version}`];
  });
  const notes = sectionOf(read('CHANGELOG.md') ?? '', version);
  if (!notes) problems.push(`CHANGELOG.md has no section ${version}`);
  if (!notes || problems.length > 0) throw new ReleaseError(problems.join('\n'));
  return `${notes}\n`;
}

function readProject(file: string): string | undefined {
  const place = path.join(ROOT, file);
  return fs.existsSync(place) ? fs.readFileSync(place, 'utf8') : undefined;
}
