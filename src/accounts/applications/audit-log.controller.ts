import { Controller, Get, Query } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import { instantOf, toAuditEntryView } from '../../platform/audit/audit.mapper.ts';
import { ApplicationId, ApplicationSecretAuth } from '../../platform/auth/access.decorators.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { type AuditLogQuery, auditLogQuery, auditLogView } from './audit-log.schema.ts';
import { ApplicationAuditLogService } from './audit-log.service.ts';

@ApiTags('applications')
@ApiParam({ name: 'client_id' })
@ApplicationSecretAuth()
@Controller('a/:client_id/audit-log')
export class ApplicationAuditLogController {
  constructor(private readonly log: ApplicationAuditLogService) {}

  @Get()
  @Endpoint({
    summary: 'List who changed the application and its accounts, newest first',
    description:
      'What the application, its access tokens and the operators of the server did to its configuration: settings, secrets, integrations, accounts, tokens, webhooks, mailing and conferencing services.',
    response: auditLogView,
  })
  async list(
    @ApplicationId() applicationId: string,
    @Query({ schema: auditLogQuery }) query: AuditLogQuery,
  ) {
    const { limit, offset, action, account_id: accountId, since, until } = query;
    const filter = { action, accountId, since: instantOf(since), until: instantOf(until) };
    const items = await this.log.list(applicationId, filter, { limit, offset });
    return items.map(toAuditEntryView);
  }
}
