import { Body, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { Actor } from '../../platform/audit/actor.ts';
import { InvalidInputError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { CurrentActor, OperatorAccess } from '../access/operator-access.decorators.ts';
import {
  JOB_ACTION_NAMES,
  JOB_KINDS,
  JOB_STATE_FILTERS,
  type JobActionName,
  type JobFilter,
  SETTLED_OUTCOMES,
} from '../jobs/job-types.ts';
import { JobPreviews } from '../jobs/job-previews.ts';
import { OperatorJobs } from '../jobs/operator-jobs.ts';
import { ConsolePages } from './console-page.decorator.ts';
import { sendContent, sendPage, viewerOf } from './console-response.ts';
import type { FilterValues } from './kit/filters.ts';
import { address } from './kit/table.ts';
import { type NoticeCode, noticeIn, noticePath } from './notices.ts';
import { jobPage, settlePage } from './pages/job.page.ts';
import { JOB_FILTERS, jobActionPage, JOBS_PATH, jobsPage } from './pages/jobs.page.ts';
import { messagePage } from './pages/message.page.ts';
import { contentDocument, MessageContent } from './preview/message-content.ts';
import { choiceIn, type Fields, filterIn, positionIn, textIn } from './queries.ts';

const DONE: Readonly<Record<JobActionName, NoticeCode>> = {
  retry: 'jobs-retried',
  cancel: 'jobs-cancelled',
  release: 'jobs-released',
};

const jobFilter = (values: FilterValues): JobFilter => ({
  id: textIn(values, 'id'),
  kind: choiceIn(values, 'kind', JOB_KINDS),
  state: choiceIn(values, 'state', JOB_STATE_FILTERS),
  account: textIn(values, 'account'),
  application: textIn(values, 'application'),
  recipient: textIn(values, 'recipient'),
  messageId: textIn(values, 'message_id'),
  subject: textIn(values, 'subject'),
});

function actionIn(name: string): JobActionName {
  const action = JOB_ACTION_NAMES.find((one) => one === name);
  if (!action) throw new NotFoundError('action', name);
  return action;
}

/** Search for jobs of all accounts, their timelines, and actions on them. */
@ConsolePages('jobs')
export class ConsoleJobsController {
  constructor(
    private readonly jobs: OperatorJobs,
    private readonly previews: JobPreviews,
    private readonly content: MessageContent,
    private readonly clock: Clock,
  ) {}

  @Get()
  async list(@Query() query: Fields, @Res() response: Response): Promise<void> {
    const values = filterIn(query, JOB_FILTERS);
    const position = positionIn(query);
    const filter = jobFilter(values);
    const [list, total] = await Promise.all([
      this.jobs.list(filter, position),
      this.jobs.count(filter),
    ]);
    const view = { now: this.clock.now(), notice: noticeIn(query) };
    const page = { ...list, ...position, total };
    sendPage(response, jobsPage(viewerOf(response.req), page, values, view));
  }

  @Get('actions/:action')
  @OperatorAccess('operate')
  async ask(
    @CurrentActor() actor: Actor,
    @Param('action') name: string,
    @Query() query: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const action = actionIn(name);
    const filter = filterIn(query, JOB_FILTERS);
    const bulk = { action, filter: jobFilter(filter), dryRun: true };
    const result = await this.jobs.actOnAll(actor, bulk);
    const view = { result, filter, now: this.clock.now() };
    sendPage(response, jobActionPage(viewerOf(response.req), action, view));
  }

  @Post('actions/:action')
  @OperatorAccess('operate')
  async act(
    @CurrentActor() actor: Actor,
    @Param('action') name: string,
    @Query() query: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const action = actionIn(name);
    const values = filterIn(query, JOB_FILTERS);
    const bulk = { action, filter: jobFilter(values), dryRun: false };
    const { changed } = await this.jobs.actOnAll(actor, bulk);
    const back = values['id'] ? `${JOBS_PATH}/${values['id']}` : address(JOBS_PATH, values);
    response.redirect(303, noticePath(back, DONE[action], changed));
  }

  @Get(':id')
  async show(
    @Param('id') id: string,
    @Query() query: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const viewer = viewerOf(response.req);
    const job = await this.jobs.get(id);
    const previewable = viewer.role === 'operate' && job.kind === 'message';
    const view = { now: this.clock.now(), notice: noticeIn(query), previewable };
    sendPage(response, jobPage(viewer, job, view));
  }

  @Get(':id/settle')
  @OperatorAccess('operate')
  async askSettle(@Param('id') id: string, @Res() response: Response): Promise<void> {
    sendPage(response, settlePage(viewerOf(response.req), await this.jobs.get(id)));
  }

  @Post(':id/settle')
  @OperatorAccess('operate')
  async settle(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Body() body: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const outcome = choiceIn(body, 'outcome', SETTLED_OUTCOMES);
    const reason = textIn(body, 'reason');
    if (!outcome || !reason) throw new InvalidInputError('outcome, reason: both are required');
    await this.jobs.settle(actor, id, outcome, reason);
    response.redirect(303, noticePath(`${JOBS_PATH}/${id}`, 'job-settled'));
  }

  /** The head of a message around its content. Every look is recorded in the audit log. */
  @Get(':id/message')
  @OperatorAccess('operate')
  async message(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Res() response: Response,
  ): Promise<void> {
    const job = await this.jobs.get(id);
    const message = await this.previews.preview(actor, id);
    const { leftOut } = await this.content.safeContentOf(message);
    sendPage(response, messagePage(job, message, leftOut));
  }

  /** The content of a message, for the frame of `message`. Every look is recorded. */
  @Get(':id/message/content')
  @OperatorAccess('operate')
  async messageContent(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Res() response: Response,
  ): Promise<void> {
    const message = await this.previews.preview(actor, id);
    sendContent(response, contentDocument(await this.content.safeContentOf(message)));
  }
}
