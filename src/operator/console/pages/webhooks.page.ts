import { html } from '../../../platform/pages/html.ts';
import type { WebhookSummary } from '../../webhooks/webhook-types.ts';
import { count } from '../kit/figures.ts';
import { type Filter, filterForm, type FilterValues } from '../kit/filters.ts';
import { idLink } from '../kit/id.ts';
import type { ConsolePage, Notice } from '../kit/layout.ts';
import { webhookChip } from '../kit/states.ts';
import { listCount, type ListPage, pager, subLine, table, twoLines } from '../kit/table.ts';
import { when } from '../kit/time.ts';

export const WEBHOOKS_PATH = '/console/webhooks';
/** Name of webhooks without an address. */
export const PULL = 'Pull webhook';

/** The filters of the list of webhooks; their names are those of the admin API. */
export const WEBHOOK_FILTERS: readonly Filter[] = [
  { name: 'url', label: 'Address', placeholder: 'Part of the callback address', wide: true },
  { name: 'application', label: 'Application', placeholder: 'Id or client id' },
  {
    name: 'state',
    label: 'State',
    options: {
      '': 'All',
      unwell: 'any failure since the last success',
      active: 'active',
      failing: 'failing',
      failed: 'switched off',
      inactive: 'inactive',
    },
  },
];

/** The list of webhooks, failing ones first. */
export function webhooksPage(
  list: ListPage<WebhookSummary>,
  filter: FilterValues,
  { now, notice }: { now: Date; notice: Notice | null },
): ConsolePage {
  const used = Object.values(filter).some(Boolean);
  return {
    section: 'webhooks',
    title: 'Webhooks',
    lead: 'Webhooks of all applications, those that fail first.',
    notice,
    body: html`${filterForm(WEBHOOKS_PATH, WEBHOOK_FILTERS, filter)} ${listCount(list, 'webhook')}
    ${table<WebhookSummary>(
      'Webhooks',
      [
        {
          title: 'Webhook',
          kind: 'main',
          cell: ({ id, callbackUrl, applicationName }) =>
            html`<a href="${WEBHOOKS_PATH}/${id}">${twoLines(callbackUrl ?? PULL)}</a
              >${subLine(applicationName)}`,
        },
        {
          title: 'State',
          cell: ({ state, paused, lastFailure }) =>
            html`${webhookChip({ state, paused })}${subLine(lastFailure)}`,
        },
        { title: 'Failing since', cell: ({ failingSince }) => when(failingSince, now) },
        {
          title: 'Backlog',
          kind: 'number',
          cell: ({ backlog, backlogIsMore }) => `${count(backlog)}${backlogIsMore ? '+' : ''}`,
        },
        { title: 'Oldest', cell: ({ oldestDueAt }) => when(oldestDueAt, now) },
        { title: 'Id', cell: ({ id }) => idLink(id, `${WEBHOOKS_PATH}/${id}`, 'webhook id') },
      ],
      list.items,
      {
        title: used ? 'No webhook matches' : 'No webhooks yet',
        text: used
          ? html`Use fewer filters, or <a href="${WEBHOOKS_PATH}">show all webhooks</a>.`
          : 'A webhook appears here when an application creates one.',
      },
    )}
    ${pager(WEBHOOKS_PATH, filter, list)}`,
  };
}
