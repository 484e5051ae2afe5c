import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/sql.ts';
import type { Grant } from '../grants/grant.entity.ts';
import { GrantsService } from '../grants/grants.service.ts';
import { auditResult, type AuditResult } from '../sync-schedule/mirror-audits.ts';

/** The account of an access token. */
@Injectable()
export class AccountService {
  constructor(
    private readonly grants: GrantsService,
    private readonly database: Database,
  ) {}

  /**
   * @returns `mirror` is `null` before the first audit of the whole mailbox is complete
   * @throws {NotFoundError}
   */
  async get(
    applicationId: string,
    accountId: string,
  ): Promise<{ grant: Grant; mirror: AuditResult | null }> {
    const grant = await this.grants.get(applicationId, accountId);
    return { grant, mirror: await auditResult(this.database, accountId) };
  }
}
