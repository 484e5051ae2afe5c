import { Injectable } from '@nestjs/common';
import {
  type AuditFilter,
  type AuditItem,
  auditOfApplication,
} from '../../platform/audit/list-audit.ts';
import type { Page } from '../../platform/database/listing.ts';
import { Database } from '../../platform/database/sql.ts';

/** The audit log of an application, as the application reads it. */
@Injectable()
export class ApplicationAuditLogService {
  constructor(private readonly database: Database) {}

  /** Entries of the application, newest first; actions of operators on it included. */
  list(
    applicationId: string,
    filter: Pick<AuditFilter, 'action' | 'accountId' | 'since' | 'until'>,
    page: Page,
  ): Promise<AuditItem[]> {
    return auditOfApplication(this.database, applicationId, filter, page);
  }
}
