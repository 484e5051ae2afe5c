import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { AccountAuth, CurrentAccount } from '../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../platform/auth/principal.ts';
import { toListView } from '../platform/database/listing.ts';
import { Endpoint } from '../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../platform/http/errors/error.schema.ts';
import { toJobStatusView } from './job-statuses.mapper.ts';
import { JobStatusesService } from './job-statuses.service.ts';
import {
  type ListJobStatusesQuery,
  jobStatus,
  jobStatuses,
  jobStatusQuery,
  listJobStatusesQuery,
} from './job-statuses.schema.ts';

@ApiTags('job-statuses')
@AccountAuth({})
@Controller('job-statuses')
export class JobStatusesController {
  constructor(private readonly jobs: JobStatusesService) {}

  @Get()
  @Endpoint({
    summary: 'List job statuses, newest first',
    description: '`view=expanded` adds the timeline of attempts to each.',
    response: jobStatuses,
  })
  async list(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: listJobStatusesQuery }) query: ListJobStatusesQuery,
  ) {
    return toListView(await this.jobs.list(account, query), toJobStatusView);
  }

  @Get(':job_status_id')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Read a job status',
    description: '`view=expanded` adds the timeline of attempts.',
    response: jobStatus,
  })
  async get(
    @CurrentAccount() account: AccountPrincipal,
    @Param('job_status_id') id: string,
    @Query({ schema: jobStatusQuery }) query: z.infer<typeof jobStatusQuery>,
  ) {
    return toJobStatusView(await this.jobs.get(account, id, query.view));
  }
}
