import path from 'node:path';
import ts from 'typescript';

/** An entity: its class and its table. */
export interface Entity {
  name: string;
  table: string;
}

/** Methods of the entity manager that get the class of an entity and write its table. */
const WRITE_BY_CLASS = new Set([
  'create',
  'insert',
  'insertMany',
  'upsert',
  'upsertMany',
  'nativeInsert',
  'nativeUpdate',
  'nativeDelete',
  // What is done with these is not followed, so they count as writes.
  'createQueryBuilder',
  'qb',
  'getRepository',
]);

/** Methods of the entity manager that get an entity and write its row. */
const WRITE_BY_INSTANCE = new Set(['assign', 'persist', 'remove']);

/** Methods of the entity manager whose result is an entity of the class in the first argument. */
const RETURNS_ENTITY = new Set(['create', 'find', 'findOne', 'findOneOrFail', 'getReference']);

/** Stands for the table if a file imports no entity that a written object could be. */
export const UNKNOWN_TABLE = '(unknown)';

/**
 * The entities that a file with `defineEntity` exports.
 * @param content of the file
 */
export function entitiesIn(content: string): Entity[] {
  const tables = new Map(
    [...content.matchAll(/const (\w+) = defineEntity\(\{[\s\S]*?tableName: '(\w+)'/g)].map(
      ([, schema = '', table = '']) => [schema, table],
    ),
  );
  return [...content.matchAll(/export class (\w+) extends (\w+)\.class\b/g)].flatMap(
    ([, name = '', schema = '']) => {
      const table = tables.get(schema);
      return table === undefined ? [] : [{ name, table }];
    },
  );
}

/**
 * Tables that a file writes through the ORM. A write is a call of the entity manager that creates,
 * changes or removes an entity or its rows. An assignment to a property of an entity is one, too,
 * because the next flush writes it.
 *
 * A call with the class of an entity writes the table of that class. For an object, the entity is
 * the first of these that exists:
 * - the class with which the file declares or loads a variable of this name
 * - an imported class of this name: `event` is an `Event`
 * - every entity that the file imports, types included
 *
 * Assignments are found only for variables of the first kind. An entity manager is what the file
 * declares as one, and every `em`.
 * @param file path from the root of the project
 * @param entitiesOf entities that another file exports, by its path
 */
export function ormWritesIn(
  file: string,
  content: string,
  entitiesOf: (file: string) => readonly Entity[],
): string[] {
  const source = ts.createSourceFile(file, content, ts.ScriptTarget.Latest, true);
  const names = namesIn(source, importedEntities(source, file, entitiesOf));
  const tables: string[] = [];
  visit(source, (node) => {
    const call = callOfManager(node, names.managers);
    const [first] = call?.arguments ?? [];
    if (call && first && WRITE_BY_CLASS.has(call.method))
      tables.push(names.imported.get(first.getText()) ?? UNKNOWN_TABLE);
    if (call && first && WRITE_BY_INSTANCE.has(call.method))
      tables.push(...tablesOfObject(first, names));
    const table = names.variables.get(assignedVariable(node) ?? '');
    if (table !== undefined) tables.push(table);
  });
  return tables;
}

/** What the names of a file stand for. */
interface Names {
  /** Table by the name under which the file imports an entity. */
  imported: ReadonlyMap<string, string>;
  /** Variables, parameters and properties that are an entity manager. */
  managers: Set<string>;
  /** Table by the name of a variable that the file declares as an entity, or loads. */
  variables: Map<string, string>;
}

function namesIn(source: ts.SourceFile, imported: ReadonlyMap<string, string>): Names {
  const names: Names = { imported, managers: new Set(['em']), variables: new Map() };
  visit(source, (node) => {
    if (!isDeclaration(node) || !isNamed(node.name)) return;
    const type = node.type?.getText() ?? '';
    if (/\bEntityManager\b/.test(type)) names.managers.add(node.name.text);
    const table = imported.get(type) ?? tableOfLoaded(node.initializer, names);
    if (table !== undefined) names.variables.set(node.name.text, table);
  });
  return names;
}

function tablesOfObject(object: ts.Expression, names: Names): string[] {
  const { imported, variables } = names;
  const name = ts.isIdentifier(object) ? object.text : '';
  const table =
    variables.get(name) ??
    tableOfLoaded(object, names) ??
    imported.get(`${name.charAt(0).toUpperCase()}${name.slice(1)}`);
  if (table !== undefined) return [table];
  return imported.size > 0 ? [...new Set(imported.values())] : [UNKNOWN_TABLE];
}

function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node);
  ts.forEachChild(node, (child) => visit(child, see));
}

/** Table by the name under which a file imports an entity. */
function importedEntities(
  source: ts.SourceFile,
  file: string,
  entitiesOf: (file: string) => readonly Entity[],
): Map<string, string> {
  const found = new Map(entitiesOf(file).map(({ name, table }) => [name, table]));
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier))
      continue;
    const names = statement.importClause?.namedBindings;
    if (!names || !ts.isNamedImports(names)) continue;
    const from = path.posix.join(path.posix.dirname(file), statement.moduleSpecifier.text);
    const entities = new Map(entitiesOf(from).map(({ name, table }) => [name, table]));
    for (const { name, propertyName } of names.elements) {
      const table = entities.get((propertyName ?? name).text);
      if (table !== undefined) found.set(name.text, table);
    }
  }
  return found;
}

const isDeclaration = (
  node: ts.Node,
): node is ts.VariableDeclaration | ts.ParameterDeclaration | ts.PropertyDeclaration =>
  ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isPropertyDeclaration(node);

const isNamed = (name: ts.Node): name is ts.Identifier | ts.PrivateIdentifier =>
  ts.isIdentifier(name) || ts.isPrivateIdentifier(name);

/** Table of the entity that an expression loads or creates. */
function tableOfLoaded(
  expression: ts.Expression | undefined,
  { managers, imported }: Names,
): string | undefined {
  let table: string | undefined;
  if (expression)
    visit(expression, (node) => {
      const call = callOfManager(node, managers);
      const [first] = call?.arguments ?? [];
      if (call && first && RETURNS_ENTITY.has(call.method)) table ??= imported.get(first.getText());
    });
  return table;
}

/** A call of a method of the entity manager, also in a chain such as `em.fork().create(…)`. */
function callOfManager(
  node: ts.Node,
  managers: ReadonlySet<string>,
): { method: string; arguments: readonly ts.Expression[] } | undefined {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return;
  const { name, expression } = node.expression;
  return isManager(expression, managers)
    ? { method: name.text, arguments: node.arguments }
    : undefined;
}

function isManager(node: ts.Expression, managers: ReadonlySet<string>): boolean {
  if (ts.isIdentifier(node)) return managers.has(node.text);
  if (ts.isPropertyAccessExpression(node)) return managers.has(node.name.text);
  return (
    ts.isCallExpression(node) &&
    ts.isPropertyAccessExpression(node.expression) &&
    isManager(node.expression.expression, managers)
  );
}

/** The variable whose property an expression assigns, increments or deletes. */
function assignedVariable(node: ts.Node): string | undefined {
  const target = assignedExpression(node);
  return target && ts.isPropertyAccessExpression(target) && ts.isIdentifier(target.expression)
    ? target.expression.text
    : undefined;
}

function assignedExpression(node: ts.Node): ts.Expression | undefined {
  if (ts.isBinaryExpression(node)) {
    const { kind } = node.operatorToken;
    const isAssignment =
      kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
    return isAssignment ? node.left : undefined;
  }
  if (ts.isPostfixUnaryExpression(node)) return node.operand;
  return ts.isDeleteExpression(node) ? node.expression : undefined;
}
