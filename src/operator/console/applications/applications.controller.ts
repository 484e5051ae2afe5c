import { Body, Get, Inject, Param, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { ApplicationsService } from '../../../accounts/applications/applications.service.ts';
import { PLANS } from '../../../platform/auth/plan.ts';
import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import { REGIONS } from '../../../platform/config/regions.ts';
import { OperatorAccess } from '../../access/operator-access.decorators.ts';
import { OperatorApiUse } from '../../api-use/operator-api-use.ts';
import { OperatorCeilings } from '../../api-use/operator-ceilings.ts';
import type { ApplicationDetail } from '../../applications/application-item.ts';
import { OperatorApplications } from '../../applications/operator-applications.ts';
import { ActionPages } from '../action-pages.ts';
import { ConsolePages } from '../console-page.decorator.ts';
import { sendPage, viewerOf } from '../console-response.ts';
import { noticeIn } from '../notices.ts';
import { actionPage } from '../pages/action.page.ts';
import {
  APPLICATION_FILTERS,
  applicationFields,
  applicationPage,
  applicationPath,
  APPLICATIONS_PATH,
  applicationsPage,
} from '../pages/applications.page.ts';
import { choiceIn, type Fields, filterIn, positionIn, textIn } from '../queries.ts';
import {
  applicationCrumbs,
  APPLICATIONS_CRUMB,
  ceilingAction,
  contactAction,
  secretAction,
  shownSecret,
  stateActions,
} from './application-actions.ts';

const LONGEST_NAME = 200;
const STATES = ['active', 'sending-paused', 'suspended', 'deleting'] as const;

/** Applications, their state, and actions on them. */
@ConsolePages('applications')
export class ConsoleApplicationsController extends ActionPages<ApplicationDetail> {
  constructor(
    private readonly applications: OperatorApplications,
    private readonly owners: ApplicationsService,
    private readonly use: OperatorApiUse,
    private readonly ceilings: OperatorCeilings,
    private readonly clock: Clock,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'operatorMail'>,
  ) {
    super({
      section: 'applications',
      find: (id) => applications.get(id),
      placeOf: (application) => ({
        path: applicationPath(application.id),
        crumbs: applicationCrumbs(application),
      }),
      actions: {
        ...stateActions(applications),
        ceiling: ceilingAction(ceilings, use),
        contact: contactAction(owners),
        'rotate-secret': secretAction(owners),
      },
    });
  }

  @Get()
  async list(@Query() query: Fields, @Res() response: Response): Promise<void> {
    const values = filterIn(query, APPLICATION_FILTERS);
    const position = positionIn(query);
    const filter = { search: values['search'], state: choiceIn(values, 'state', STATES) };
    const [list, total] = await Promise.all([
      this.applications.list(filter, position),
      this.applications.count(filter),
    ]);
    const view = { now: this.clock.now(), notice: noticeIn(query) };
    const page = { ...list, ...position, total };
    sendPage(response, applicationsPage(viewerOf(response.req), page, values, view));
  }

  @Get('new')
  @OperatorAccess('operate')
  askNew(@Res() response: Response): void {
    const page = actionPage(viewerOf(response.req), {
      section: 'applications',
      title: 'Create an application?',
      consequences:
        'It gets a client id and a client secret, with which it connects accounts. The secret is shown once.',
      crumbs: [APPLICATIONS_CRUMB],
      path: `${APPLICATIONS_PATH}/new`,
      fields: applicationFields(),
      button: 'Create the application',
      back: APPLICATIONS_PATH,
    });
    sendPage(response, page);
  }

  /** The page has the client secret, so there is no redirect: the secret is shown once. */
  @Post('new')
  @OperatorAccess('operate')
  async create(@Body() body: Fields, @Res() response: Response): Promise<void> {
    const name = textIn(body, 'name');
    if (name === undefined || name.length > LONGEST_NAME)
      throw new InvalidInputError(`name: must have 1 to ${LONGEST_NAME} characters`);
    const { application, clientSecret } = await this.owners.create({
      name,
      plan: choiceIn(body, 'plan', PLANS) ?? 'standard',
      region: choiceIn(body, 'region', REGIONS) ?? 'us',
      features: [],
    });
    sendPage(response, shownSecret(application, clientSecret));
  }

  @Get(':id')
  async show(
    @Param('id') id: string,
    @Query() query: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const application = await this.applications.get(id);
    const [use, ceilings] = await Promise.all([
      this.use.list(application.id),
      this.ceilings.list(application.id),
    ]);
    const sendsMail = this.config.operatorMail !== null;
    const view = { now: this.clock.now(), notice: noticeIn(query), use, ceilings, sendsMail };
    sendPage(response, applicationPage(viewerOf(response.req), application, view));
  }
}
