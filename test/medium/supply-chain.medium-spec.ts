import fs from 'node:fs';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { judge, readAllowed } from '../../scripts/lib/advisories.ts';
import {
  isAllowed,
  licensesDocument,
  licenseProblems,
  productionLicenses,
} from '../../scripts/lib/licenses.ts';
import { ROOT } from '../../scripts/lib/project.ts';
import { runScript, type ScriptResult } from '../support/npm-script.ts';

const ADVISORY = {
  id: 1,
  url: 'https://github.com/advisories/GHSA-aaaa-bbbb-cccc',
  title: 'Remote code execution in mails',
  severity: 'critical',
  vulnerable_versions: '*',
  cwe: [],
  cvss: { score: 9.8, vectorString: null },
};

describe('the bill of materials', () => {
  interface Sbom {
    bomFormat: string;
    metadata: { component: { name: string } };
    components: { name: string; version: string }[];
  }
  interface LockEntry {
    version?: string;
    dev?: boolean;
    optional?: boolean;
    devOptional?: boolean;
    peer?: boolean;
  }

  it('lists every production dependency and no development package, and is the same each time', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-sbom-'));
    const make = async (name: string) => {
      const file = path.join(folder, name);
      expect(await runScript('sbom', [file], {})).toMatchObject({ code: 0 });
      return fs.readFileSync(file, 'utf8');
    };
    const text = await make('one.json');
    expect(await make('two.json')).toBe(text);
    fs.rmSync(folder, { recursive: true });

    const sbom = JSON.parse(text) as Sbom;
    expect(sbom).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'carillon' } },
    });
    const listed = new Set(sbom.components.map(({ name, version }) => `${name}@${version}`));
    const { packages } = JSON.parse(
      fs.readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8'),
    ) as {
      packages: Record<string, LockEntry>;
    };
    const installed = Object.entries(packages).filter(([place]) =>
      place.startsWith('node_modules/'),
    );
    const nameOf = (place: string) =>
      place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const needed = installed.filter(
      ([, { dev, optional, devOptional, peer }]) => !dev && !optional && !devOptional && !peer,
    );
    expect(needed.length).toBeGreaterThan(100);
    expect(
      needed
        .map(([place, { version }]) => `${nameOf(place)}@${version}`)
        .filter((each) => !listed.has(each)),
    ).toEqual([]);
    const { dependencies } = JSON.parse(text) as {
      dependencies: { ref: string; dependsOn: string[] }[];
    };
    const own = dependencies.find(({ ref }) => ref.startsWith('carillon@'))?.dependsOn ?? [];
    const { dependencies: direct } = JSON.parse(
      fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'),
    ) as {
      dependencies: Record<string, string>;
    };
    for (const name of Object.keys(direct))
      expect(own.some((ref) => ref.startsWith(`${name}@`))).toBe(true);
    expect(dependencies.find(({ ref }) => ref.startsWith('pg@'))?.dependsOn).toContainEqual(
      expect.stringMatching(/^pg-protocol@/),
    );
    for (const name of ['jest', 'oxlint', 'oxfmt']) {
      expect([...listed].some((each) => each.startsWith(`${name}@`))).toBe(false);
    }
  });
});

describe('the check of licenses', () => {
  const added = { name: 'new-package', version: '1.0.0' };

  it.each([
    ['MIT', true],
    ['(MIT OR EUPL-1.1+)', true],
    ['Apache-2.0 AND MIT', true],
    ['MIT AND GPL-3.0-only', false],
    ['AGPL-3.0-or-later', false],
    ['SEE LICENSE IN LICENSE.txt', false],
    [null, false],
  ])('judges the license %s', (license, allowed) => {
    expect(isAllowed(license)).toBe(allowed);
  });

  it('names a package whose license is not approved or not stated', () => {
    const all = [
      { ...added, license: 'AGPL-3.0-or-later' },
      { ...added, name: 'other', license: null },
    ];
    expect(licenseProblems(all, licensesDocument(all))).toEqual([
      expect.stringContaining('new-package@1.0.0: AGPL-3.0-or-later') as string,
      expect.stringContaining('other@1.0.0: no license is stated') as string,
    ]);
  });

  it('asks for a new list when a package was added', () => {
    const all = productionLicenses();
    expect(all.length).toBeGreaterThan(100);
    expect(licenseProblems([...all, { ...added, license: 'MIT' }], licensesDocument(all))).toEqual([
      'THIRD_PARTY_LICENSES.md is not current. Run: npm run licenses:write',
    ]);
  });
});

describe('the look-up of advisories', () => {
  let answer: (response: http.ServerResponse) => void;
  const registry = http.createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      if (request.method === 'POST') answer(response);
      else response.writeHead(404).end('{}');
    });
  });
  let url: string;

  beforeAll(async () => {
    registry.listen(0, '127.0.0.1');
    await once(registry, 'listening');
    url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
  });
  afterAll(() => {
    registry.closeAllConnections();
    registry.close();
  });

  const check = (): Promise<ScriptResult> =>
    runScript('check-advisories', [], {
      npm_config_registry: url,
      npm_config_cache: fs.mkdtempSync(path.join(os.tmpdir(), 'npm-')),
    });

  it('passes when the registry knows no advisory', async () => {
    answer = (response) => response.end('{}');
    expect(await check()).toEqual({
      code: 0,
      output: '0 advisories fail the check, 0 are allowed, 0 are of lower severity.\n',
    });
  });

  it('fails on a critical advisory for a production dependency, and names it', async () => {
    answer = (response) => response.end(JSON.stringify({ nodemailer: [ADVISORY] }));
    const { code, output } = await check();
    expect({ code, output }).toEqual({
      code: 1,
      output: expect.stringContaining(
        'GHSA-aaaa-bbbb-cccc nodemailer (critical): Remote code execution',
      ) as string,
    });
  });

  it.each<[string, (response: http.ServerResponse) => void]>([
    ['refuses the request', (response) => response.writeHead(405, { allow: 'GET' }).end()],
    ['does not answer', () => undefined],
    ['answers nonsense', (response) => response.end('<html>')],
  ])(
    'reports that nothing was checked when the registry %s, and does not fail',
    async (_, behave) => {
      answer = behave;
      const { code, output } = await check();
      expect(output).toMatch(/^NOT CHECKED: /);
      expect(code).toBe(0);
    },
  );

  it('allows an advisory by its id until the end of a given day', () => {
    const output = JSON.stringify({
      vulnerabilities: { a: { via: [{ ...ADVISORY, name: 'a' }, 'b'] } },
    });
    const allowed = [{ id: 'GHSA-aaaa-bbbb-cccc', reason: 'not used', until: '2026-06-01' }];
    expect(judge(output, allowed, '2026-06-01')).toMatchObject({
      failing: [],
      allowed: [{ package: 'a' }],
    });
    expect(judge(output, allowed, '2026-06-02')).toMatchObject({
      failing: [{ package: 'a' }],
      allowed: [],
    });
    expect(judge(output, [], '2026-06-01')).toMatchObject({ failing: [{ package: 'a' }] });
  });

  it('requires a reason and a day for each allowed advisory', () => {
    expect(() => readAllowed()).not.toThrow();
    const file = path.join(os.tmpdir(), `allowed-${process.pid}.json`);
    fs.writeFileSync(file, '[{"id":"GHSA-aaaa-bbbb-cccc","reason":"","until":"2026-06-01"}]');
    expect(() => readAllowed(file)).toThrow('entry 1 needs id (GHSA-…), reason and until');
    fs.rmSync(file);
  });
});
