import {
  type AuditFilter,
  type AuditItem,
  countAudit,
  listAudit,
} from '../../platform/audit/list-audit.ts';
import { countBriefly } from '../search/search-limit.ts';
import type { PageOf, TokenPage } from '../../platform/database/page-token.ts';
import type { Database } from '../../platform/database/sql.ts';

/** The audit log over all applications, for operators. */
export class AuditLogService {
  constructor(private readonly database: Database) {}

  /**
   * Entries that match the filter, newest first.
   * @throws {InvalidInputError} if the page token belongs to another list
   */
  list(filter: AuditFilter, page: TokenPage): Promise<PageOf<AuditItem>> {
    return listAudit(this.database, filter, page);
  }

  /** How many entries a list has, counted up to `MOST_COUNTED`; `null` if that takes too long. */
  count(filter: AuditFilter): Promise<number | null> {
    return countBriefly(this.database, (sql, most) => countAudit(sql, filter, most));
  }
}
