import type { Sql } from '../../platform/database/sql.ts';
import type { Folder } from './folder.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

export type FoundFolder = RowOf<Folder, 'id' | 'name'>;

const FIND = `
  select f.id, f.name from folder f where f.account_id = $1 and not f.deleting
    and (lower(f.name) = any($2) or lower(f.display_name) = any($2) or f.id::text = any($2)) order by f.id`;

/**
 * The folders that `in` and `not_in` of a filter name; `undefined` if the filter does not use that
 * field.
 */
export interface FilterFolders {
  in: readonly FoundFolder[] | undefined;
  notIn: readonly FoundFolder[] | undefined;
}

/**
 * Finds the folders or labels that a filter names: by standard name, display name or id, ignoring
 * case. A name that matches no folder gives an empty list. Without names in the filter no query is
 * made.
 */
export async function findFolders(
  sql: Sql,
  accountId: string,
  filter: { in?: readonly string[] | undefined; notIn?: readonly string[] | undefined },
): Promise<FilterFolders> {
  const find = async (names: readonly string[] | undefined) =>
    names && sql.query<FoundFolder>(FIND, [accountId, names.map((name) => name.toLowerCase())]);
  const [wanted, unwanted] = await Promise.all([find(filter.in), find(filter.notIn)]);
  return { in: wanted, notIn: unwanted };
}
