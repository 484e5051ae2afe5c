import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { instantOf, toAuditEntryView } from '../../platform/audit/audit.mapper.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { OperatorAccess } from '../access/operator-access.decorators.ts';
import {
  type AuditPageView,
  auditPageView,
  type ListAudit,
  listAuditSchema,
} from './admin-audit-log.schema.ts';
import { AuditLogService } from './audit-log.service.ts';

@ApiTags('audit')
@OperatorAccess('read')
@Controller('admin/audit-log')
export class AdminAuditLogController {
  constructor(private readonly log: AuditLogService) {}

  @Get()
  @Endpoint({
    summary: 'List who did what, newest first',
    description:
      'Entries of operators, applications and access tokens. Nobody can change them; they are deleted after `AUDIT_LOG_DAYS`.',
    response: auditPageView,
  })
  async list(@Query({ schema: listAuditSchema }) query: ListAudit): Promise<AuditPageView> {
    const { application, account, actor_kind, since, until, limit, page_token, ...rest } = query;
    const filter = {
      ...rest,
      applicationId: application,
      accountId: account,
      actorKind: actor_kind,
      since: instantOf(since),
      until: instantOf(until),
    };
    const { items, nextPageToken } = await this.log.list(filter, { limit, pageToken: page_token });
    return { items: items.map(toAuditEntryView), next_page_token: nextPageToken };
  }
}
