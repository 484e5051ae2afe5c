import ts from 'typescript';

/** A member of a row type that is written in place, although a table has a column of its name. */
export interface MemberInPlace {
  /** Name of the member. */
  name: string;
  /** Table with such a column. */
  table: string;
}

/**
 * Properties that rows of each table have by `RowOf`: those of its entity, and the keys of its
 * relations.
 * @param content of a file of entities
 * @param shared properties of the objects that entities spread, by the name of the object
 */
export function rowPropertiesIn(
  content: string,
  shared: ReadonlyMap<string, readonly string[]>,
): Map<string, Set<string>> {
  const tables = new Map<string, Set<string>>();
  visit(parse(content), (node) => {
    if (!ts.isObjectLiteralExpression(node)) return;
    const table = valueOf(node, 'tableName');
    const properties = valueOf(node, 'properties');
    if (!table || !properties || !ts.isStringLiteral(table)) return;
    if (ts.isObjectLiteralExpression(properties))
      tables.set(table.text, new Set(propertiesOf(properties, shared)));
  });
  return tables;
}

/** Properties of each object of columns that a file exports for entities to spread. */
export function sharedColumnsIn(content: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  visit(parse(content), (node) => {
    if (!ts.isVariableDeclaration(node) || !ts.isIdentifier(node.name)) return;
    if (node.initializer && ts.isObjectLiteralExpression(node.initializer))
      found.set(node.name.text, propertiesOf(node.initializer, found));
  });
  return found;
}

/**
 * Members that a file writes in place although they are columns of a table in its SQL. Looks at the
 * type argument of each `query`, and at the interfaces and types of the same file that it uses. An
 * `id` alone is no finding, because it is the same in every table.
 */
export function membersInPlace(
  content: string,
  tables: ReadonlyMap<string, ReadonlySet<string>>,
): MemberInPlace[] {
  const source = parse(content);
  const used = [...tables].filter(([table]) =>
    new RegExp(`\\b(?:from|join|update|into|using)\\s+(?:only\\s+)?"?${table}\\b`, 'i').test(
      content,
    ),
  );
  const declared = declarationsIn(source);
  const members = new Set<ts.TypeElement>();
  visit(source, (node) => {
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return;
    if (node.expression.name.text !== 'query') return;
    for (const type of node.typeArguments ?? []) collect(type, declared, members);
  });
  return [...members].flatMap((member) => {
    const name = member.name?.getText(source) ?? '';
    const isDocumented = ts.getJSDocCommentsAndTags(member).length > 0;
    const table =
      name === 'id' || isDocumented ? undefined : used.find(([, names]) => names.has(name))?.[0];
    return table === undefined ? [] : [{ name, table }];
  });
}

const parse = (content: string): ts.SourceFile =>
  ts.createSourceFile('file.ts', content, ts.ScriptTarget.Latest, true);

function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node);
  ts.forEachChild(node, (child) => visit(child, see));
}

function valueOf(object: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  for (const property of object.properties)
    if (ts.isPropertyAssignment(property) && property.name.getText() === name)
      return property.initializer;
  return undefined;
}

function propertiesOf(
  object: ts.ObjectLiteralExpression,
  shared: ReadonlyMap<string, readonly string[]>,
): string[] {
  return object.properties.flatMap((property) => {
    if (ts.isSpreadAssignment(property)) return shared.get(property.expression.getText()) ?? [];
    const name = property.name.getText();
    const isRelation =
      ts.isPropertyAssignment(property) && ts.isArrowFunction(property.initializer);
    return [isRelation ? `${name}Id` : name];
  });
}

type Declared = ts.InterfaceDeclaration | ts.TypeAliasDeclaration;

function declarationsIn(source: ts.SourceFile): Map<string, Declared> {
  const declared = new Map<string, Declared>();
  visit(source, (node) => {
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node))
      declared.set(node.name.text, node);
  });
  return declared;
}

function collect(
  type: ts.TypeNode,
  declared: ReadonlyMap<string, Declared>,
  members: Set<ts.TypeElement>,
): void {
  if (ts.isTypeLiteralNode(type)) for (const member of type.members) members.add(member);
  if (ts.isIntersectionTypeNode(type) || ts.isUnionTypeNode(type))
    for (const part of type.types) collect(part, declared, members);
  if (!ts.isTypeReferenceNode(type)) return;
  const declaration = declared.get(type.typeName.getText());
  if (!declaration) return;
  if (ts.isInterfaceDeclaration(declaration))
    for (const member of declaration.members) members.add(member);
  else if (declaration.type !== type) collect(declaration.type, declared, members);
}
