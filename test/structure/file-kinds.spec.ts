import fs, { globSync } from 'node:fs';
import path from 'node:path';

/**
 * Kinds of files that a reader of NestJS and MikroORM knows, each with what such a file exports. A
 * class with the ending is nowhere else.
 */
const KINDS = [
  { file: /\.module\.ts$/, ending: 'Module' },
  { file: /\.controller\.ts$/, ending: 'Controller' },
  { file: /\.service\.ts$/, ending: 'Services?' },
  { file: /\.strategy\.ts$/, ending: 'Strategy' },
  { file: /\.filter\.ts$/, ending: 'Filter' },
  { file: /(^|\.)guards?\.ts$/, ending: 'Guard' },
  { file: /\.connector\.ts$/, ending: 'Connector' },
] as const;

/** Tables whose names end like the class of another kind. */
const ENTITY = /\.entity\.ts$/;

const files = globSync('src/**/*.ts').filter((file) => !file.endsWith('.spec.ts'));
const textOf = (file: string) => fs.readFileSync(file, 'utf8');

/** Names of the exported classes that are not abstract. A function may have made the class. */
const classesOf = (file: string) =>
  [...textOf(file).matchAll(/^export (?:class|const) ([A-Z]\w+)/gm)].map(([, name = '']) => name);

describe('kinds of files', () => {
  it.each(KINDS)('have names that end like their class: $ending', ({ file, ending }) => {
    const isKind = new RegExp(`${ending}$`);
    const ofKind = files.filter((one) => file.test(path.basename(one)));
    expect(ofKind.length).toBeGreaterThan(0);
    expect(ofKind.filter((one) => !classesOf(one).some((name) => isKind.test(name)))).toEqual([]);
    const others = files.filter((one) => !ofKind.includes(one) && !ENTITY.test(one));
    const misplaced = others.flatMap((one) =>
      classesOf(one).flatMap((name) => (isKind.test(name) ? `${one}: ${name}` : [])),
    );
    expect(misplaced).toEqual([]);
  });

  it('have one table in each file of entities, and no table elsewhere', () => {
    const defines = files.filter((file) => /^const \w+ = defineEntity\(/m.test(textOf(file)));
    expect(defines.filter((file) => !ENTITY.test(file))).toEqual([]);
    expect(files.filter((file) => ENTITY.test(file) && !defines.includes(file))).toEqual([]);
  });
});
