import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../../platform/audit/actor.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { CurrentActor, OperatorAccess } from '../access/operator-access.decorators.ts';
import {
  toBulkAction,
  toBulkView,
  toJobDetailsView,
  toJobQuery,
  toJobsView,
  toPreviewView,
} from './admin-jobs.mapper.ts';
import {
  type ActOnJob,
  actOnJobSchema,
  type ActOnJobs,
  actOnJobsSchema,
  bulkJobs,
  type ListJobsQuery,
  listJobsQuery,
  messagePreview,
  operatorJobDetails,
  operatorJobs,
  type SettleJob,
  settleJobSchema,
} from './admin-jobs.schema.ts';
import { JobPreviews } from './job-previews.ts';
import { OperatorJobs } from './operator-jobs.ts';

const ON_ALL =
  'At most 5,000 jobs in a call, newest first. `dry_run` is true unless you send false. A job that is on its way, or whose outcome is unknown, is left alone; `skipped` says why.';

@ApiTags('jobs')
@OperatorAccess('operate')
@Controller('admin/jobs')
export class AdminJobsController {
  constructor(
    private readonly jobs: OperatorJobs,
    private readonly previews: JobPreviews,
  ) {}

  @Get()
  @ApiErrors(404)
  @OperatorAccess('read')
  @Endpoint({
    summary: 'Find jobs of all accounts, newest first',
    description:
      'Messages, changes on their way to a provider, and reminders. All filters must hold. A search that no index fits is stopped after five seconds with a 400 that says what to add.',
    response: operatorJobs,
  })
  async list(@Query({ schema: listJobsQuery }) query: ListJobsQuery) {
    const { filter, page } = toJobQuery(query);
    return toJobsView(await this.jobs.list(filter, page));
  }

  @Post('retry')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Make all jobs that match due now',
    description: `A message never leaves before its send time. ${ON_ALL}`,
    response: bulkJobs,
  })
  async retryAll(@CurrentActor() actor: Actor, @Body({ schema: actOnJobsSchema }) body: ActOnJobs) {
    return toBulkView(await this.jobs.actOnAll(actor, toBulkAction('retry', body)));
  }

  @Post('cancel')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Cancel all messages and reminders that match',
    description: ON_ALL,
    response: bulkJobs,
  })
  async cancelAll(
    @CurrentActor() actor: Actor,
    @Body({ schema: actOnJobsSchema }) body: ActOnJobs,
  ) {
    return toBulkView(await this.jobs.actOnAll(actor, toBulkAction('cancel', body)));
  }

  @Post('release')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Release all messages and reminders that match from quarantine',
    description: `Each message is looked up first, and sent only if it was not sent before. ${ON_ALL}`,
    response: bulkJobs,
  })
  async releaseAll(
    @CurrentActor() actor: Actor,
    @Body({ schema: actOnJobsSchema }) body: ActOnJobs,
  ) {
    return toBulkView(await this.jobs.actOnAll(actor, toBulkAction('release', body)));
  }

  @Get(':id')
  @ApiErrors(404)
  @OperatorAccess('read')
  @Endpoint({ summary: 'Read a job with its timeline', response: operatorJobDetails })
  async get(@Param('id') id: string) {
    return toJobDetailsView(await this.jobs.get(id));
  }

  @Get(':id/preview')
  @ApiErrors(404, 503)
  @Endpoint({
    summary: 'Look at the message of a job',
    description: 'Needs the role `operate`. Every look is recorded in the audit log.',
    response: messagePreview,
  })
  async preview(@CurrentActor() actor: Actor, @Param('id') id: string) {
    return toPreviewView(await this.previews.preview(actor, id));
  }

  @Post(':id/retry')
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'Make a job due now',
    description:
      'A message never leaves before its send time. 409 says why the job was left alone.',
    response: operatorJobDetails,
  })
  async retry(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Body({ schema: actOnJobSchema }) { reason }: ActOnJob,
  ) {
    return toJobDetailsView(await this.jobs.act(actor, 'retry', id, reason));
  }

  @Post(':id/cancel')
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'Cancel a message or a reminder',
    description: '409 says why the job was left alone.',
    response: operatorJobDetails,
  })
  async cancel(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Body({ schema: actOnJobSchema }) { reason }: ActOnJob,
  ) {
    return toJobDetailsView(await this.jobs.act(actor, 'cancel', id, reason));
  }

  @Post(':id/release')
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'Release a message or a reminder from quarantine',
    description:
      'A message is looked up first, and sent only if it was not sent before. 409 says why the job was left alone.',
    response: operatorJobDetails,
  })
  async release(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Body({ schema: actOnJobSchema }) { reason }: ActOnJob,
  ) {
    return toJobDetailsView(await this.jobs.act(actor, 'release', id, reason));
  }

  @Post(':id/settle')
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'Decide whether a message of unknown outcome was sent',
    description:
      'The job goes on as after a look-up with this result. `sent`: it becomes successful, also if it had failed. `not-sent`: it is sent again at once, or fails if its deadline has passed. Webhooks are sent as for any other result. 409 says why the job was left alone.',
    response: operatorJobDetails,
  })
  async settle(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Body({ schema: settleJobSchema }) { outcome, reason }: SettleJob,
  ) {
    return toJobDetailsView(await this.jobs.settle(actor, id, outcome, reason));
  }
}
