import { html } from '../../../platform/pages/html.ts';
import type { RequestState } from '../../overview/overview.ts';
import { count, counted } from '../kit/figures.ts';
import type { ConsolePage } from '../kit/layout.ts';
import { table } from '../kit/table.ts';
import { relative } from '../kit/time.ts';

/** Requests of applications that the server could not serve in the last hour, by their errors. */
export function failedRequestsPage({ minutes, failures }: RequestState, now: Date): ConsolePage {
  const all = minutes.reduce((sum, { requests }) => sum + requests, 0);
  const failed = minutes.reduce((sum, minute) => sum + minute.failed, 0);
  return {
    section: 'overview',
    title: 'Failed requests',
    lead: `${count(failed)} of ${counted(all, 'request')} answered with 5xx in the last hour`,
    crumbs: [{ path: '/console', label: 'Overview' }],
    body: html`<section class="panel">
      ${table(
        'Requests that were answered with 5xx, by route and error',
        [
          {
            title: 'Request',
            kind: 'main',
            cell: ({ method, route, error }) =>
              html`${method} ${route}<span class="sub">${error}</span>`,
          },
          { title: 'Status', cell: ({ status }) => String(status) },
          { title: 'Times', kind: 'number', cell: ({ requests }) => count(requests) },
          { title: 'Last', cell: ({ lastAt }) => relative(lastAt, now) },
          {
            title: 'Id of the last, for the log',
            cell: ({ requestId }) => html`<code>${requestId ?? '–'}</code>`,
          },
        ],
        failures,
        { title: 'None failed', text: 'Every request of the last hour was answered without 5xx.' },
      )}
    </section>`,
  };
}
