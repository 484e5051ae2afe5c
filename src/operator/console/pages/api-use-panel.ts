import { describeApi } from '../../../platform/budgets/company-api.ts';
import { html, type Html } from '../../../platform/pages/html.ts';
import type { ApiUseState } from '../../api-use/api-use.ts';
import type { ApiUseList } from '../../api-use/operator-api-use.ts';
import { chip } from '../kit/chip.ts';
import { count } from '../kit/figures.ts';
import { table } from '../kit/table.ts';
import { ceilingShare, NEAR_CEILING } from '../../api-use/api-use.ts';

function todayCell(state: ApiUseState): Html {
  const { today, ceiling } = state;
  if (ceiling === null) return html`${count(today)}`;
  const share = ceilingShare(state);
  const words = `${Math.floor(share * 100)} % of ${count(ceiling)}`;
  const tone = share >= 1 ? 'bad' : share >= NEAR_CEILING ? 'warning' : 'idle';
  return html`${count(today)}<span class="sub">${chip(tone, words)}</span>`;
}

function forecastCell({ monthForecast, freePerDay, paidForecast, costForecast }: ApiUseState) {
  const cost = costForecast === null ? '' : `, costs ${costForecast.toFixed(2)}`;
  const paid = paidForecast === 0 ? 'none of it paid' : `${count(paidForecast)} paid${cost}`;
  return html`${count(monthForecast)}${freePerDay === null ? null : html`<span class="sub">${paid}</span>`}`;
}

/** What an application uses of the APIs of companies; nothing if it uses none. */
export function apiUsePanel({ items, pricesCheckedOn }: ApiUseList): Html | null {
  if (items.length === 0) return null;
  const free = items.some(({ freePerDay }) => freePerDay !== null);
  const checked = `Free units, prices and the units of each call were checked on ${pricesCheckedOn}.`;
  return html`<section class="panel">
    <h2>Use of Google and Microsoft</h2>
    ${table<ApiUseState>(
      'What the application uses of the APIs of companies',
      [
        {
          title: 'API',
          kind: 'main',
          cell: ({ api, counts }) =>
            html`${describeApi(api).title}<span class="sub"
                >${counts === 'units' ? 'quota units' : 'requests'}</span
              >`,
        },
        { title: 'Today', kind: 'number', cell: todayCell },
        { title: 'This month', kind: 'number', cell: ({ month }) => count(month) },
        { title: 'Expected', kind: 'number', cell: forecastCell },
      ],
      items,
      { title: 'No calls', text: 'None were made this month.' },
    )}
    <p class="aside">Days and months are in UTC. ${free ? checked : null}</p>
  </section>`;
}
