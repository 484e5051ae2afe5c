import fs from 'node:fs';

const read = (name: string): string =>
  fs.readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8');

/** The lines of one service in docker-compose.yml. */
function serviceOf(compose: string, name: string): string {
  return new RegExp(`^  ${name}:\\n(?:(?:    .*)?\\n)+`, 'm').exec(compose)?.[0] ?? '';
}

describe('the container files', () => {
  const compose = read('docker-compose.yml');
  const dockerfile = read('Dockerfile');

  it('have no default for a password or a key, so that compose refuses to start without them', () => {
    for (const name of ['POSTGRES_PASSWORD', 'ENCRYPTION_KEYS']) {
      const uses = compose.match(new RegExp(`\\$\\{${name}[^}]*\\}`, 'g')) ?? [];
      expect(uses).not.toEqual([]);
      expect(uses.filter((use) => !use.startsWith(`\${${name}:?`))).toEqual([]);
    }
    expect(compose).not.toMatch(/:\/\/\w+:\w+@/);
  });

  it('pin every pulled image to an exact version', () => {
    const images = [...compose.matchAll(/(?:image|_IMAGE): .*?([a-z]+:[^\s}'"]+)\}?$/gm)].map(
      ([, image]) => image,
    );
    const bases = [...dockerfile.matchAll(/^ARG NODE_IMAGE=(.*)$/gm)].map(([, image]) => image);
    expect(images).toHaveLength(3);
    expect(bases).toHaveLength(1);
    for (const image of [...images, ...bases])
      expect(image).toMatch(/^[a-z]+:\d+\.\d+(\.\d+)?(-slim)?$/);
    expect(images).toContain(bases[0]);
    expect(
      dockerfile.match(/^FROM .*/gm)?.every((line) => line.startsWith('FROM ${NODE_IMAGE}')),
    ).toBe(true);
  });

  it('bring the API document, against which carillon-api checks requests, to the build', () => {
    expect(dockerfile).toMatch(/^COPY .*\bopenapi\.json .*\n[^]*npm run build/m);
    expect(read('.dockerignore')).toMatch(/^!openapi\.json$/m);
  });

  it('put the commands carillon, carillon-api and api on the path of the image', () => {
    expect(dockerfile).toMatch(
      /^COPY bin \.\/bin$[^]*^RUN ln -s \/carillon\/bin\/\* \/usr\/local\/bin\/$[^]*^USER node$/m,
    );
    expect(read('.dockerignore')).toMatch(/^!bin$/m);
  });

  it('copy the bill of materials and the licenses of the installed packages into the image', () => {
    expect(dockerfile).toMatch(
      /npm ci --omit=dev[^]*\nRUN npm run sbom -- sbom\.cdx\.json\n[^]*\nFROM /,
    );
    expect(dockerfile).toContain('COPY --from=build /carillon/sbom.cdx.json ./');
    for (const name of ['LICENSE', 'THIRD_PARTY_LICENSES.md']) {
      expect(dockerfile).toMatch(new RegExp(`^COPY .*\\b${name}\\b`, 'm'));
      expect(read('.dockerignore')).toMatch(new RegExp(`^!${name}$`, 'm'));
    }
  });

  it('run Carillon as an ordinary user, without capabilities and on a read-only file system', () => {
    expect(dockerfile).toMatch(/^USER node$/m);
    const common = /^x-carillon:[^]*?\n\n/m.exec(compose)?.[0] ?? '';
    for (const line of [
      'read_only: true',
      'cap_drop: [ALL]',
      "security_opt: ['no-new-privileges:true']",
    ]) {
      expect(common).toContain(line);
    }
    for (const name of ['postgres', 'proxy']) {
      expect(serviceOf(compose, name)).toContain('cap_drop: [ALL]');
      expect(serviceOf(compose, name)).toContain("security_opt: ['no-new-privileges:true']");
    }
  });
});
