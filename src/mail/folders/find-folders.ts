import type { Sql } from '../../platform/database/sql.ts';

export interface FoundFolder {
  id: string;
  /** Standard name; null for user-made ones. */
  name: string | null;
}

const FIND = `
  select f.id, f.name from folder f where f.account_id = $1 and not f.deleting
    and (lower(f.name) = any($2) or lower(f.display_name) = any($2) or f.id::text = any($2)) order by f.id`;

/** The folders that `in` and `not_in` of a filter mean; undefined: they were not asked for. */
export interface FilterFolders {
  in: readonly FoundFolder[] | undefined;
  notIn: readonly FoundFolder[] | undefined;
}

/**
 * The folders or labels of an account that a filter names, by standard name, display name or id, in any case; none is
 * an answer. Asks the database only when the filter names some.
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
