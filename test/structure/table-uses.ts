import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { type Entity, entitiesIn, ormWritesIn } from './orm-writes.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** A file that uses a table that another module owns: in SQL, or through the ORM. */
export interface TableUse {
  kind: 'read' | 'write';
  table: string;
  /**
   * The module that contains the file: `mail/messages`, or a group without modules, such as `sync`.
   */
  by: string;
  file: string;
}

/**
 * The owner of each table: the module that has its entity.
 * @returns module by table name
 */
export function tableOwners(): Map<string, string> {
  const owners = new Map<string, string>();
  for (const file of sourceFiles().filter((name) => name.endsWith('.entity.ts'))) {
    for (const [, table = ''] of contentOf(file).matchAll(/tableName: '(\w+)'/g))
      owners.set(table, moduleOf(file));
  }
  return owners;
}

/** Tables that a migration creates and no later migration drops, without partitions. */
export function createdTables(): string[] {
  const folder = path.join(ROOT, 'migrations');
  const tables = new Set<string>();
  for (const file of fs.globSync('**/*.ts', { cwd: folder }).toSorted()) {
    const content = fs.readFileSync(path.join(folder, file), 'utf8').split('async down')[0] ?? '';
    for (const [, verb, table = ''] of content.matchAll(
      /\b(create(?: unlogged)?|drop) table (?:if (?:not )?exists )?"?(\w+)"?(?!\S* partition of )/g,
    ))
      if (verb === 'drop') tables.delete(table);
      else tables.add(table);
  }
  return [...tables];
}

/**
 * All SQL in `src` that reads or writes a table of another module, and all calls of the ORM that
 * write one (`ormWritesIn`). Spec files are left out.
 */
export function foreignTableUses(): TableUse[] {
  const owners = tableOwners();
  return [...tablesInSql(owners), ...ormWrites()].filter(
    ({ table, by }) => owners.get(table) !== by,
  );
}

/** Tables that `src` writes through the ORM, and tables that it writes with SQL. */
export function tableWriters(): { byOrm: Set<string>; bySql: Set<string> } {
  const writes = tablesInSql(tableOwners()).filter(({ kind }) => kind === 'write');
  return {
    byOrm: new Set(ormWrites().map(({ table }) => table)),
    bySql: new Set(writes.map(({ table }) => table)),
  };
}

function ormWrites(): TableUse[] {
  const entities = new Map<string, Entity[]>(
    sourceFiles().map((file) => [file, entitiesIn(contentOf(file))]),
  );
  return sourceFiles().flatMap((file) =>
    ormWritesIn(file, contentOf(file), (from) => entities.get(from) ?? []).map((table) => ({
      kind: 'write' as const,
      table,
      by: moduleOf(file),
      file,
    })),
  );
}

function tablesInSql(owners: ReadonlyMap<string, string>): TableUse[] {
  const tables = [...owners.keys()].join('|');
  const name = `\\s+(?:only\\s+)?"?(${tables})"?(?!\\w)`;
  const patterns = [
    ['write', new RegExp(`\\b(?:insert into|delete from|truncate|merge into)${name}`, 'gi')],
    // The pattern includes "set", because comments and error texts also say "update".
    ['write', new RegExp(`\\bupdate${name}(?=\\s+(?:(?:as\\s+)?\\w+\\s+)?set\\b)`, 'gi')],
    ['read', new RegExp(`(?<!delete )\\b(?:from|join|using)${name}`, 'gi')],
  ] as const;
  return sourceFiles().flatMap((file) => {
    const by = moduleOf(file);
    return literalsOf(file).flatMap((text) =>
      patterns.flatMap(([kind, pattern]) =>
        [...text.matchAll(pattern)].map(([, table = '']) => ({
          kind,
          table: table.toLowerCase(),
          by,
          file,
        })),
      ),
    );
  });
}

/** Files of `src` from the root of the project, without spec files. */
export function sourceFiles(): string[] {
  return fs
    .readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .map((file) => `src/${file}`);
}

function moduleOf(file: string): string {
  const [, group = '', ...rest] = file.split('/');
  // Folders of `sync` are no modules: all of them belong to `sync/sync.module.ts`.
  return rest.length > 1 && group !== 'sync' ? `${group}/${rest[0]}` : group;
}

/** Text of a file, by its path from the root of the project. */
export function contentOf(file: string): string {
  return fs.readFileSync(path.join(ROOT, file), 'utf8');
}

/** Texts of all string and template literals. The values filled into a template are left out. */
function literalsOf(file: string): string[] {
  const literals: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) literals.push(node.text);
    else if (ts.isTemplateExpression(node))
      literals.push(
        [node.head, ...node.templateSpans.map((span) => span.literal)]
          .map(({ text }) => text)
          .join(' '),
      );
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, contentOf(file), ts.ScriptTarget.Latest));
  return literals;
}
