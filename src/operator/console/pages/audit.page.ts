import { ACTOR_KINDS } from '../../../platform/audit/actor.ts';
import type { AuditItem } from '../../../platform/audit/list-audit.ts';
import { html, type Html } from '../../../platform/pages/html.ts';
import { type Filter, filterForm, type FilterValues } from '../kit/filters.ts';
import { idLink, shortId } from '../kit/id.ts';
import type { ConsolePage } from '../kit/layout.ts';
import { listCount, type ListPage, pager, table } from '../kit/table.ts';
import { exactly } from '../kit/time.ts';
import { optionsOf } from './jobs.page.ts';

export const AUDIT_PATH = '/console/audit';

/** The filters of the audit log; their names are those of the admin API. */
export const AUDIT_FILTERS: readonly Filter[] = [
  {
    name: 'action',
    label: 'Action',
    placeholder: 'account.pause, or account. for all',
    wide: true,
  },
  { name: 'target', label: 'Id of the target', wide: true },
  { name: 'actor_kind', label: 'Done by', options: optionsOf('All', ACTOR_KINDS) },
  { name: 'actor', label: 'Name or id of who did it', rare: true, wide: true },
  { name: 'application', label: 'Application', placeholder: 'Id', rare: true, wide: true },
  { name: 'account', label: 'Account', placeholder: 'Id', rare: true, wide: true },
];

const valueText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

const detailList = (details: AuditItem['details']): Html | null => {
  const entries = Object.entries(details).filter(([, value]) => value !== null);
  if (entries.length === 0) return null;
  return html`<span class="sub"
    >${entries.map(([name, value]) => `${name}: ${valueText(value)}`).join(' · ')}</span
  >`;
};

const PAGES: Readonly<Record<string, string>> = {
  account: '/console/accounts',
  job: '/console/jobs',
  webhook: '/console/webhooks',
  application: '/console/applications',
  operator: '/console/operators',
};

function targetCell({ target: { type, id } }: AuditItem): Html {
  const path = Object.hasOwn(PAGES, type) ? PAGES[type] : undefined;
  const what = `id of the ${type}`;
  const shown = path ? idLink(id, `${path}/${encodeURIComponent(id)}`, what) : shortId(id, what);
  return html`${type} ${shown}`;
}

/** Who did what to what, newest first. */
export function auditPage(list: ListPage<AuditItem>, filter: FilterValues, now: Date): ConsolePage {
  const used = Object.values(filter).some(Boolean);
  return {
    section: 'audit',
    title: 'Audit log',
    lead: 'Who did what. Entries are never changed.',
    body: html`${filterForm(AUDIT_PATH, AUDIT_FILTERS, filter)}
    ${listCount(list, 'entry', 'entries')}
    ${table<AuditItem>(
      'Audit log',
      [
        {
          title: 'Action',
          kind: 'main',
          cell: ({ action, details }) => html`<code>${action}</code>${detailList(details)}`,
        },
        { title: 'Target', kind: 'wide', cell: targetCell },
        {
          title: 'Done by',
          kind: 'wide',
          cell: ({ actor }) =>
            html`${actor.name}<span class="sub"
                >${actor.kind}${actor.address ? `, ${actor.address}` : null}</span
              >`,
        },
        { title: 'When', cell: ({ at }) => exactly(at, now) },
      ],
      list.items,
      {
        title: used ? 'No entry matches' : 'No entries yet',
        text: used
          ? html`Use fewer filters, or <a href="${AUDIT_PATH}">show all entries</a>.`
          : 'What operators, applications and tokens do appears here.',
      },
    )}
    ${pager(AUDIT_PATH, filter, list)}`,
  };
}
