import { html, type Html, type HtmlValue } from '../../../platform/pages/html.ts';
import type { ReplayResult } from '../../../platform/webhooks/replay/replay-events.ts';
import { filtersOf, shownFilters } from '../../../platform/webhooks/webhook-filters.ts';
import type {
  WebhookAttemptInfo,
  WebhookDetails,
  WebhookSummary,
} from '../../webhooks/webhook-types.ts';
import { actionBar, type ActionLink, confirmBody, type Viewer } from '../kit/actions.ts';
import { chip, type Tone } from '../kit/chip.ts';
import { count, counted } from '../kit/figures.ts';
import { shortId, wholeId } from '../kit/id.ts';
import type { ConsolePage, Notice } from '../kit/layout.ts';
import { webhookChip } from '../kit/states.ts';
import { address, facts, type ListPage, pager } from '../kit/table.ts';
import { absolute, duration, exactly, relative, when } from '../kit/time.ts';
import { verbatim } from '../kit/timeline.ts';
import { PULL, WEBHOOKS_PATH } from './webhooks.page.ts';

export const webhookPath = (id: string): string => `${WEBHOOKS_PATH}/${id}`;

/** What the console calls a webhook: its address, if it has one. */
export const titleOf = ({ callbackUrl }: Pick<WebhookSummary, 'callbackUrl'>): string =>
  callbackUrl ?? PULL;

const TONES: Readonly<Record<WebhookAttemptInfo['outcome'], Tone>> = {
  delivered: 'good',
  retry: 'warning',
  dropped: 'bad',
};
const WORDS: Readonly<Record<WebhookAttemptInfo['outcome'], string>> = {
  delivered: 'delivered',
  retry: 'repeated',
  dropped: 'given up',
};

/** What the operator fills in before a replay: a time in UTC, as the form's field has it. */
export interface ReplayForm {
  since: string;
  /** Empty for no end. */
  until: string;
  /** Whether all events are meant whose delivery failed, instead of those of a span. */
  failed: boolean;
  undeliveredOnly: boolean;
  eventId: string;
}

/** `accounts: 019a…; from_domains: example.com`; `null` without filters. */
function filtersText(webhook: WebhookDetails): string | null {
  const filters = Object.entries(shownFilters(filtersOf(webhook)) ?? {});
  const text = filters.map(([name, values]: [string, string[]]) => `${name}: ${values.join(', ')}`);
  return text.length === 0 ? null : text.join('; ');
}
/** What is known of a feed that somebody reads. */
const feedFacts = ({ delivery, feed }: WebhookDetails, now: Date): [string, HtmlValue][] =>
  delivery === 'push' && feed.position === null
    ? []
    : [
        ['Acknowledged', feed.acknowledgedAt ? exactly(feed.acknowledgedAt, now) : 'never'],
        ['Position', feed.position],
        ['Events waiting to be read', `${count(feed.waiting)}${feed.waitingIsMore ? '+' : ''}`],
      ];

const webhookFacts = (webhook: WebhookDetails, now: Date): Html => {
  const { lastHour } = webhook;
  return html`<section class="panel">
      <h2>Webhook</h2>
      ${facts([
        ['Id', wholeId(webhook.id, 'webhook id')],
        [
          'Application',
          html`<a href="/console/applications/${webhook.applicationId}"
            >${webhook.applicationName}</a
          >`,
        ],
        ['Triggers', webhook.triggers.join(', ')],
        ['Filters', filtersText(webhook)],
        ['Content', webhook.content],
        ['Created', exactly(webhook.createdAt, now)],
        ['Subscribed', exactly(webhook.subscribedAt, now)],
        ['Last delivery', exactly(webhook.lastDeliveredAt, now)],
        ['Failing since', webhook.failingSince && exactly(webhook.failingSince, now)],
        ['Failures since then', webhook.failures > 0 ? count(webhook.failures) : null],
        ['Replay reaches back to', exactly(webhook.replayableSince, now)],
        ...feedFacts(webhook, now),
      ])}
    </section>
    <section class="panel">
      <h2>Last hour</h2>
      <dl class="tally">
        <div>
          <dt>Backlog</dt>
          <dd>${count(webhook.backlog)}${webhook.backlogIsMore ? '+' : ''}</dd>
        </div>
        <div>
          <dt>Delivered</dt>
          <dd>${count(lastHour.delivered)}</dd>
        </div>
        <div>
          <dt>Repeated</dt>
          <dd>${count(lastHour.retry)}</dd>
        </div>
        <div>
          <dt>Given up</dt>
          <dd>${count(lastHour.dropped)}</dd>
        </div>
      </dl>
    </section>`;
};

function attemptItem(viewer: Viewer, webhook: WebhookDetails, one: WebhookAttemptInfo, now: Date) {
  const replay = address(`${webhookPath(webhook.id)}/replay`, { event_id: one.eventId });
  return html`<li>
    <p>
      ${chip(TONES[one.outcome], WORDS[one.outcome])}
      ${one.httpStatus === null ? 'no answer' : html`status <strong>${one.httpStatus}</strong>`}
      after ${duration(one.tookMs)}
      <span class="aside">· attempt ${one.attempt} · ${when(one.startedAt, now)}</span>
    </p>
    <p class="aside">
      ${one.trigger ?? 'event no longer stored'}
      ${shortId(one.eventId, 'event id')}${one.nextAt ? ` · next attempt ${relative(one.nextAt, now)}` : null}${viewer.role === 'operate' && one.trigger !== null ? html` · <a href="${replay}">Send again…</a>` : null}
    </p>
    ${one.detail ? html`<p>${one.detail}</p>` : null}${one.response ? verbatim(one.response) : null}
  </li>`;
}

const actionsOf = ({ id, state, callbackUrl }: WebhookDetails): ActionLink[] => {
  const path = webhookPath(id);
  const replay = { path: `${path}/replay`, label: 'Replay…' };
  const activate = { path: `${path}/activate`, label: 'Activate…' };
  const stop = { path: `${path}/pause`, label: 'Stop deliveries…', danger: true };
  const delivers = state === 'active' || state === 'failing';
  if (callbackUrl === null) return delivers ? [] : [activate];
  return [replay, delivers ? stop : activate];
};

/** One webhook: its deliveries with the receiver's answers. */
export function webhookPage(
  viewer: Viewer,
  webhook: WebhookDetails,
  attempts: Omit<ListPage<WebhookAttemptInfo>, 'total'>,
  { now, notice, outcome }: { now: Date; notice: Notice | null; outcome?: string | undefined },
): ConsolePage {
  const path = webhookPath(webhook.id);
  return {
    section: 'webhooks',
    title: titleOf(webhook),
    beside: webhookChip(webhook),
    lead: webhook.lastFailure,
    crumbs: [{ path: WEBHOOKS_PATH, label: 'Webhooks' }],
    notice,
    body: html`${actionBar(viewer, actionsOf(webhook))}
      <div class="columns">
        <section class="panel">
          <div class="panel-head">
            <h2>Attempts</h2>
            <p>
              ${outcome ? html`<a href="${path}">Show all attempts</a>` : html`<a href="${path}?outcome=dropped">Given up only</a>`}
            </p>
          </div>
          ${
            attempts.items.length === 0
              ? html`<p class="aside">
                  No attempts are stored. They appear here when an event is delivered.
                </p>`
              : html`<ul class="problems">
                  ${attempts.items.map((one) => attemptItem(viewer, webhook, one, now))}
                </ul>`
          }${pager(path, { outcome }, attempts)}
        </section>
        <div class="stack">${webhookFacts(webhook, now)}</div>
      </div>`,
  };
}

const replayFields = ({ since, until, failed, undeliveredOnly, eventId }: ReplayForm): Html =>
  html`<div class="filter wide">
      <label for="since">Events since (UTC)</label
      ><input id="since" name="since" type="datetime-local" value="${since}" />
    </div>
    <div class="filter wide">
      <label for="until">Events before (UTC), if not up to now</label
      ><input id="until" name="until" type="datetime-local" value="${until}" />
    </div>
    <div class="filter wide">
      <label class="check"
        ><input type="checkbox" name="failed" value="true" ${failed ? html` checked` : null} />
        Instead of a span: all events whose delivery failed</label
      >
    </div>
    <div class="filter wide">
      <label for="event-id">Or one event, by its id</label
      ><input
        id="event-id"
        name="event_id"
        type="text"
        value="${eventId}"
        autocomplete="off"
        spellcheck="false"
      />
    </div>
    <div class="filter wide">
      <label class="check"
        ><input
          type="checkbox"
          name="undelivered_only"
          value="true"
          ${undeliveredOnly ? html` checked` : null}
        />
        Only events that the receiver has not confirmed</label
      >
    </div>`;

/** The form's request once more, for the button that does it. */
const hiddenOf = ({
  eventId,
  failed,
  since,
  until,
  undeliveredOnly,
}: ReplayForm): Record<string, string> => {
  if (eventId) return { event_id: eventId };
  if (failed) return { failed: 'true' };
  return { since, ...(until ? { until } : {}), undelivered_only: String(undeliveredOnly) };
};

/** The form of a replay and, once it is filled in, the result of a dry run. */
export function replayPage(
  viewer: Viewer,
  webhook: WebhookDetails,
  form: ReplayForm,
  result: ReplayResult | null,
  notice: Notice | null,
): ConsolePage {
  const path = webhookPath(webhook.id);
  const events = result ? counted(result.queued, 'event') : '';
  return {
    section: 'webhooks',
    title: result ? `Send ${events} again?` : 'Replay events',
    crumbs: [
      { path: WEBHOOKS_PATH, label: 'Webhooks' },
      { path, label: titleOf(webhook) },
    ],
    notice,
    body: html`<form class="filters" method="get" action="${path}/replay">
        ${replayFields(form)}
        <div class="filter-buttons">
          <button class="button" type="submit">Show what this would send</button>
        </div>
      </form>
      <p class="aside">Events are stored since ${absolute(webhook.replayableSince)}.</p>
      ${
        result &&
        confirmBody(viewer, {
          consequences: html`<p>
              The receiver gets these events again, with the same ids, so that it can recognise
              those it has.
            </p>
            ${result.running > 0 ? html`<p>${counted(result.running, 'delivery', 'deliveries')} of these events run at this moment and are left alone.</p>` : null}`,
          dryRun: { matched: result.matched, changed: result.queued, skipped: [] },
          path: `${path}/replay`,
          hidden: hiddenOf(form),
          button: `Send ${events} again`,
          back: path,
        })
      }`,
  };
}
