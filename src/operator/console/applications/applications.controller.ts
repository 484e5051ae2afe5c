import { Body, Get, Inject, Param, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { Actor } from '../../../platform/audit/actor.ts';
import { NotFoundError } from '../../../platform/base/errors/domain-error.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import { CurrentActor, OperatorAccess } from '../../access/operator-access.decorators.ts';
import { OperatorApiUse } from '../../api-use/operator-api-use.ts';
import { OperatorCeilings } from '../../api-use/operator-ceilings.ts';
import type { ApplicationDetail } from '../../applications/application-item.ts';
import { OperatorApplications } from '../../applications/operator-applications.ts';
import { ConsolePages } from '../console-page.decorator.ts';
import { sendPage, viewerOf } from '../console-response.ts';
import { counted } from '../kit/figures.ts';
import { type NoticeCode, noticeIn, noticePath } from '../notices.ts';
import { actionPage, type AskedAction, reasonField, typedField } from '../pages/action.page.ts';
import {
  APPLICATION_FILTERS,
  applicationPage,
  applicationPath,
  APPLICATIONS_PATH,
  applicationsPage,
} from '../pages/applications.page.ts';
import { choiceIn, type Fields, filterIn, positionIn, textIn } from '../queries.ts';

const STATES = ['active', 'sending-paused', 'suspended', 'deleting'] as const;

/** An action on an application: its page, and what it does. */
interface ApplicationAction {
  ask: (
    application: ApplicationDetail,
  ) => Pick<AskedAction, 'title' | 'consequences' | 'button' | 'danger' | 'fields'>;
  run: (
    applications: OperatorApplications,
    actor: Actor,
    id: string,
    body: Fields,
  ) => Promise<unknown>;
  done: NoticeCode;
}

const reasonIn = (body: Fields): string | null => textIn(body, 'reason') ?? null;

const ACTIONS: Readonly<Record<string, ApplicationAction>> = {
  pause: {
    ask: ({ name, accounts }) => ({
      title: `Pause sending for ${name}?`,
      consequences: `Messages of its ${counted(accounts, 'account')} wait until you resume. New ones are accepted and wait as well. Messages whose deadline passes meanwhile fail.`,
      button: 'Pause sending',
      fields: reasonField('The users of the application see it.'),
    }),
    run: (applications, actor, id, body) => applications.pauseSending(actor, id, reasonIn(body)),
    done: 'sending-paused',
  },
  resume: {
    ask: ({ name, pausedMessages }) => ({
      title: `Resume sending for ${name}?`,
      consequences: `${counted(pausedMessages, 'waiting message')} will be sent, unless a deadline has passed. Pauses of single accounts last.`,
      button: 'Resume sending',
    }),
    run: (applications, actor, id) => applications.resumeSending(actor, id),
    done: 'sending-resumed',
  },
  suspend: {
    ask: ({ name, accounts }) => ({
      title: `Suspend ${name}?`,
      consequences: `Its requests and sign-ins are refused, and nothing of its ${counted(accounts, 'account')} is sent or synced. Nothing is lost.`,
      button: 'Suspend the application',
      danger: true,
      fields: reasonField('For the audit log, and for other operators.'),
    }),
    run: (applications, actor, id, body) => applications.suspend(actor, id, reasonIn(body)),
    done: 'suspended',
  },
  activate: {
    ask: ({ name }) => ({
      title: `End the suspension of ${name}?`,
      consequences:
        'Its mailboxes are synced again at once. What became due meanwhile is sent, unless its deadline has passed.',
      button: 'End the suspension',
    }),
    run: (applications, actor, id) => applications.unsuspend(actor, id),
    done: 'activated',
  },
  delete: {
    ask: ({ name, clientId, accounts }) => ({
      title: `Delete ${name} and all its data?`,
      consequences: `The application is suspended at once. Then its ${counted(accounts, 'account')}, their mirrored mail, calendars and contacts, its waiting messages, webhooks and tokens are deleted. Nothing is deleted at the providers. This cannot be undone.`,
      button: 'Delete the application',
      danger: true,
      fields: typedField(clientId),
    }),
    run: (applications, actor, id, body) =>
      applications.delete(actor, id, textIn(body, 'confirm') ?? ''),
    done: 'deleting',
  },
};

function actionOf(name: string): ApplicationAction {
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (!action) throw new NotFoundError('action', name);
  return action;
}

/** Applications, their state, and actions on them. */
@ConsolePages('applications')
export class ConsoleApplicationsController {
  constructor(
    private readonly applications: OperatorApplications,
    private readonly use: OperatorApiUse,
    private readonly ceilings: OperatorCeilings,
    private readonly clock: Clock,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'operatorMail'>,
  ) {}

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

  @Get(':id/:action')
  @OperatorAccess('operate')
  async ask(
    @Param('id') id: string,
    @Param('action') name: string,
    @Res() response: Response,
  ): Promise<void> {
    const action = actionOf(name);
    const application = await this.applications.get(id);
    const path = applicationPath(application.id);
    const page = actionPage(viewerOf(response.req), {
      ...action.ask(application),
      section: 'applications',
      crumbs: [
        { path: APPLICATIONS_PATH, label: 'Applications' },
        { path, label: application.name },
      ],
      path: `${path}/${name}`,
      back: path,
    });
    sendPage(response, page);
  }

  @Post(':id/:action')
  @OperatorAccess('operate')
  async act(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Param('action') name: string,
    @Body() body: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const action = actionOf(name);
    await action.run(this.applications, actor, id, body);
    response.redirect(303, noticePath(applicationPath(id), action.done));
  }
}
