import { html } from '../../../platform/pages/html.ts';
import { ACCOUNT_HEALTHS, type AccountItem } from '../../accounts/account-health.ts';
import { type Filter, filterForm, type FilterValues } from '../kit/filters.ts';
import { idLink } from '../kit/id.ts';
import type { ConsolePage, Notice } from '../kit/layout.ts';
import { healthChip, HEALTH_WORDS } from '../kit/states.ts';
import { listCount, type ListPage, pager, subLine, table, twoLines } from '../kit/table.ts';
import { duration, when } from '../kit/time.ts';

export const ACCOUNTS_PATH = '/console/accounts';

const HEALTH_OPTIONS = {
  '': 'All',
  ...Object.fromEntries(ACCOUNT_HEALTHS.map((health) => [health, HEALTH_WORDS[health]])),
};

/** The filters of the list of accounts; their names are those of the admin API. */
export const ACCOUNT_FILTERS: readonly Filter[] = [
  { name: 'address', label: 'Address', placeholder: 'Part of the address', wide: true },
  { name: 'application', label: 'Application', placeholder: 'Id or client id' },
  { name: 'provider', label: 'Provider', placeholder: 'imap, google, …' },
  { name: 'server', label: 'Failing server', placeholder: 'mail.example.com:993 (IMAP)' },
  { name: 'health', label: 'Health', options: HEALTH_OPTIONS },
];

/** The list of accounts, those in trouble first. */
export function accountsPage(
  list: ListPage<AccountItem>,
  filter: FilterValues,
  { now, notice }: { now: Date; notice: Notice | null },
): ConsolePage {
  const used = Object.values(filter).some(Boolean);
  return {
    section: 'accounts',
    title: 'Accounts',
    lead: 'Accounts of all applications, those in trouble first.',
    notice,
    body: html`${filterForm(ACCOUNTS_PATH, ACCOUNT_FILTERS, filter)} ${listCount(list, 'account')}
    ${table(
      'Accounts',
      [
        {
          title: 'Account',
          kind: 'main',
          cell: ({ id, email, applicationName }) =>
            html`<a href="${ACCOUNTS_PATH}/${id}">${twoLines(email)}</a
              >${subLine(applicationName)}`,
        },
        {
          title: 'Health',
          cell: ({ health, reason }) => html`${healthChip(health)}${subLine(reason)}`,
        },
        { title: 'Provider', cell: ({ provider }) => provider },
        {
          title: 'Sync',
          cell: ({ syncState, syncLagSeconds }) =>
            html`${syncState}${syncLagSeconds > 0 ? html`<span class="sub">${duration(syncLagSeconds * 1000)} behind</span>` : null}`,
        },
        { title: 'Connected', cell: ({ connectedAt }) => when(connectedAt, now) },
        { title: 'Id', cell: ({ id }) => idLink(id, `${ACCOUNTS_PATH}/${id}`, 'account id') },
      ],
      list.items,
      {
        title: used ? 'No account matches' : 'No accounts yet',
        text: used
          ? html`Use fewer filters, or <a href="${ACCOUNTS_PATH}">show all accounts</a>.`
          : 'An account appears here when a user connects a mailbox to an application.',
      },
    )}
    ${pager(ACCOUNTS_PATH, filter, list)}`,
  };
}
