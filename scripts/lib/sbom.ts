import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './project.ts';

/*
 * Written here because `npm sbom` (npm 11) cannot do it. With --omit=dev it leaves out packages
 * that production and development share, such as nodemailer. Without it, it refuses a tree that was
 * installed without development packages.
 */

interface LockedPackage {
  name?: string;
  version?: string;
  license?: string;
  integrity?: string;
  dev?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

interface Component {
  type: 'library';
  'bom-ref': string;
  name: string;
  version: string;
  purl: string;
  licenses?: { expression: string }[];
  hashes?: { alg: 'SHA-512'; content: string }[];
}

const MODULES = 'node_modules/';
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** @param place in package-lock.json, such as `node_modules/a/node_modules/@b/c` */
function nameOf(place: string, { name }: LockedPackage): string {
  return name ?? place.slice(place.lastIndexOf(MODULES) + MODULES.length);
}

const refOf = (place: string, locked: LockedPackage): string =>
  `${nameOf(place, locked)}@${locked.version}`;

function componentOf(place: string, locked: LockedPackage): Component {
  const { version = '', license, integrity } = locked;
  const name = nameOf(place, locked);
  const sha512 = /^sha512-(.+)$/.exec(integrity ?? '')?.[1];
  return {
    type: 'library',
    'bom-ref': refOf(place, locked),
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}`,
    ...(license ? { licenses: [{ expression: license }] } : {}),
    ...(sha512
      ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(sha512, 'base64').toString('hex') }] }
      : {}),
  };
}

/**
 * Returns the location of `name` as seen from the package at `place`: its own node_modules folder,
 * or the nearest one above. This is how Node resolves packages.
 */
function resolve(
  packages: ReadonlyMap<string, LockedPackage>,
  place: string,
  name: string,
): string | undefined {
  const parts = place.split(`/${MODULES}`);
  for (let depth = place === '' ? 0 : parts.length; depth >= 0; depth -= 1) {
    const candidate = [...parts.slice(0, depth), name].join(`/${MODULES}`);
    const found = depth === 0 ? `${MODULES}${name}` : candidate;
    if (packages.has(found)) return found;
  }
  return undefined;
}

/**
 * Builds the bill of materials, in CycloneDX 1.5, of the installed production packages: those of
 * package-lock.json whose folder exists. The same packages always give the same text, because it
 * contains no time and no random number and is sorted.
 */
export function makeSbom(): string {
  const lock = JSON.parse(fs.readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  const { '': root = {}, ...locked } = lock.packages;
  const installed = new Map(
    Object.entries(locked).filter(
      ([place, { dev }]) => !dev && fs.existsSync(path.join(ROOT, place)),
    ),
  );
  const own = `${root.name}@${root.version}`;
  const components = new Map<string, Component>();
  const edges = new Map<string, Set<string>>();
  for (const [place, entry] of [['', root] as const, ...installed]) {
    const ref = place === '' ? own : refOf(place, entry);
    if (place !== '') components.set(ref, componentOf(place, entry));
    const { dependencies, optionalDependencies, peerDependencies } = entry;
    const targets = edges.get(ref) ?? new Set<string>();
    for (const name of Object.keys({
      ...peerDependencies,
      ...optionalDependencies,
      ...dependencies,
    })) {
      const target = resolve(installed, place, name);
      if (target) targets.add(refOf(target, installed.get(target) ?? {}));
    }
    edges.set(ref, targets);
  }
  return `${JSON.stringify(
    {
      $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
      bomFormat: 'CycloneDX',
      specVersion: '1.5',
      version: 1,
      metadata: {
        component: { type: 'application', 'bom-ref': own, name: root.name, version: root.version },
      },
      components: [...components.values()].sort((a, b) => byText(a['bom-ref'], b['bom-ref'])),
      dependencies: [...edges]
        .map(([ref, targets]) => ({ ref, dependsOn: [...targets].sort(byText) }))
        .sort((a, b) => byText(a.ref, b.ref)),
    },
    null,
    2,
  )}\n`;
}
