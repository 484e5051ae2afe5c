import { Body, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { Actor } from '../../platform/audit/actor.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import type { ReplayRequest } from '../../platform/webhooks/replay/replay-events.ts';
import { WEBHOOK_STATES } from '../../platform/webhooks/webhook-state.ts';
import { CurrentActor, OperatorAccess } from '../access/operator-access.decorators.ts';
import { OperatorWebhooks } from '../webhooks/operator-webhooks.ts';
import type { WebhookDetails } from '../webhooks/webhook-types.ts';
import { type ConsoleAction, ActionPages } from './action-pages.ts';
import { ConsolePages } from './console-page.decorator.ts';
import { sendPage, viewerOf } from './console-response.ts';
import { noticeIn, noticePath } from './notices.ts';
import { reasonField } from './pages/action.page.ts';
import { replayPage, titleOf, webhookPage, webhookPath } from './pages/webhook.page.ts';
import { WEBHOOK_FILTERS, WEBHOOKS_PATH, webhooksPage } from './pages/webhooks.page.ts';
import { choiceIn, type Fields, filterIn, positionIn, reasonIn, textIn } from './queries.ts';

const OUTCOMES = ['delivered', 'retry', 'dropped'] as const;
const DEFAULT_SINCE_MS = 24 * 3_600_000;
/** What a `datetime-local` field sends: a time without a zone, which is UTC here. */
const LOCAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/;

/** @throws {InvalidInputError} */
function timeIn(field: string, value: string): Date {
  const at = new Date(LOCAL_TIME.test(value) ? `${value}Z` : Number.NaN);
  if (Number.isNaN(at.getTime()))
    throw new InvalidInputError(`${field}: enter a time in UTC, such as 2026-11-24T03:00`);
  return at;
}

/** The request of a form: one event, all that failed, or those of a span. */
function replayIn(fields: Fields): ReplayRequest | null {
  const eventId = textIn(fields, 'event_id');
  if (eventId !== undefined) return { eventId };
  if (fields['failed'] === 'true') return { failed: true };
  const since = textIn(fields, 'since');
  if (since === undefined) return null;
  const until = textIn(fields, 'until');
  return {
    since: timeIn('Events since', since),
    until: until === undefined ? null : timeIn('Events before', until),
    undeliveredOnly: fields['undelivered_only'] === 'true',
  };
}

const crumbsOf = (webhook: WebhookDetails) => [
  { path: WEBHOOKS_PATH, label: 'Webhooks' },
  { path: webhookPath(webhook.id), label: titleOf(webhook) },
];

const webhookActions = (
  webhooks: OperatorWebhooks,
): Readonly<Record<string, ConsoleAction<WebhookDetails>>> => ({
  pause: {
    ask: () => ({
      title: 'Stop the deliveries?',
      consequences:
        'Nothing is delivered to this webhook until you or its owner activates it. Its events stay stored; those of the last 72 hours are delivered then.',
      fields: reasonField('For the audit log.'),
      button: 'Stop the deliveries',
      danger: true,
    }),
    run: (actor, { id }, body) => webhooks.pause(actor, id, reasonIn(body)),
    done: 'webhook-stopped',
  },
  activate: {
    ask: () => ({
      title: 'Activate this webhook?',
      consequences:
        'The receiver has to answer the challenge first. Then it gets the events of the last 72 hours that it missed.',
      button: 'Activate',
    }),
    run: (actor, { id }) => webhooks.activate(actor, id),
    done: 'webhook-activated',
  },
});

/** Webhooks of all applications, their attempts, and actions on them. */
@ConsolePages('webhooks')
export class ConsoleWebhooksController extends ActionPages<WebhookDetails> {
  constructor(
    private readonly webhooks: OperatorWebhooks,
    private readonly clock: Clock,
  ) {
    super({
      section: 'webhooks',
      find: (id) => webhooks.get(id),
      placeOf: (webhook) => ({ path: webhookPath(webhook.id), crumbs: crumbsOf(webhook) }),
      actions: webhookActions(webhooks),
    });
  }

  @Get()
  async list(@Query() query: Fields, @Res() response: Response): Promise<void> {
    const values = filterIn(query, WEBHOOK_FILTERS);
    const position = positionIn(query);
    const filter = {
      url: values['url'],
      application: values['application'],
      state: choiceIn(values, 'state', [...WEBHOOK_STATES, 'unwell'] as const),
    };
    const [list, total] = await Promise.all([
      this.webhooks.list(filter, position),
      this.webhooks.count(filter),
    ]);
    const view = { now: this.clock.now(), notice: noticeIn(query) };
    sendPage(response, webhooksPage({ ...list, ...position, total }, values, view));
  }

  @Get(':id')
  async show(
    @Param('id') id: string,
    @Query() query: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const position = positionIn(query);
    const outcome = choiceIn(query, 'outcome', OUTCOMES);
    const [webhook, attempts] = await Promise.all([
      this.webhooks.get(id),
      this.webhooks.attempts(id, { outcome }, position),
    ]);
    const view = { now: this.clock.now(), notice: noticeIn(query), outcome };
    const page = { ...attempts, ...position };
    sendPage(response, webhookPage(viewerOf(response.req), webhook, page, view));
  }

  @Get(':id/replay')
  @OperatorAccess('operate')
  async askReplay(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Query() query: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const which = replayIn(query);
    const webhook = await this.webhooks.get(id);
    const result = which && (await this.webhooks.replay(actor, id, { which, dryRun: true }));
    const since = webhook.failingSince ?? new Date(this.clock.now().getTime() - DEFAULT_SINCE_MS);
    const form = {
      since: textIn(query, 'since') ?? since.toISOString().slice(0, 16),
      until: textIn(query, 'until') ?? '',
      failed: query['failed'] === 'true',
      undeliveredOnly: which === null || query['undelivered_only'] === 'true',
      eventId: textIn(query, 'event_id') ?? '',
    };
    sendPage(response, replayPage(viewerOf(response.req), webhook, form, result, null));
  }

  @Post(':id/replay')
  @OperatorAccess('operate')
  async replay(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Body() body: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const which = replayIn(body);
    if (!which) throw new InvalidInputError('Name the event, or a time since when to replay');
    const { queued } = await this.webhooks.replay(actor, id, { which, dryRun: false });
    response.redirect(303, noticePath(webhookPath(id), 'events-replayed', queued));
  }
}
