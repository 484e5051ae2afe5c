import { PLANS } from '../../../platform/auth/plan.ts';
import { REGIONS } from '../../../platform/config/regions.ts';
import { attributes, html, type Html } from '../../../platform/pages/html.ts';
import type { ApiUseList } from '../../api-use/operator-api-use.ts';
import type { ApplicationCeiling } from '../../api-use/operator-ceilings.ts';
import type { ApplicationDetail, ApplicationItem } from '../../applications/application-item.ts';
import { type ActionLink, actionBar, type Viewer } from '../kit/actions.ts';
import { chip } from '../kit/chip.ts';
import { count, counted } from '../kit/figures.ts';
import { type Filter, filterForm, type FilterValues } from '../kit/filters.ts';
import { copyButton, wholeId } from '../kit/id.ts';
import type { ConsolePage, Notice } from '../kit/layout.ts';
import { address, facts, listCount, type ListPage, pager, table, twoLines } from '../kit/table.ts';
import { exactly, when } from '../kit/time.ts';
import { ACCOUNTS_PATH } from './accounts.page.ts';
import { apiUsePanel } from './api-use-panel.ts';
import { ceilingsPanel } from './ceilings.ts';
import { WEBHOOKS_PATH } from './webhooks.page.ts';

export const APPLICATIONS_PATH = '/console/applications';
export const applicationPath = (id: string): string => `${APPLICATIONS_PATH}/${id}`;

/** The filters of the list of applications; their names are those of the admin API. */
export const APPLICATION_FILTERS: readonly Filter[] = [
  { name: 'search', label: 'Name or client id', wide: true },
  {
    name: 'state',
    label: 'State',
    options: {
      '': 'All',
      active: 'active',
      'sending-paused': 'sending paused',
      suspended: 'suspended',
      deleting: 'being deleted',
    },
  },
];

function stateChip({ deletion, suspended, sendingPaused }: ApplicationItem): Html {
  if (deletion)
    return deletion.finishedAt
      ? chip('idle', 'deleted')
      : chip('warning', 'being deleted', 'clock');
  if (suspended) return chip('warning', 'suspended', 'pause');
  return sendingPaused ? chip('idle', 'sending paused', 'pause') : chip('good', 'active');
}

const choices = (values: readonly string[]): Html[] =>
  values.map((value) => html`<option value="${value}">${value}</option>`);

/** The fields of a new application. */
export const applicationFields = (): Html =>
  html`<div>
      <label for="name">Name</label
      ><input id="name" name="name" type="text" required maxlength="200" autocomplete="off" />
      <p class="hint">Users see it when they sign in.</p>
    </div>
    <div>
      <label for="plan">Plan</label
      ><select id="plan" name="plan">
        ${choices(['standard', ...PLANS.filter((plan) => plan !== 'standard')])}
      </select>
    </div>
    <div>
      <label for="region">Region</label
      ><select id="region" name="region">
        ${choices(REGIONS)}
      </select>
    </div>`;

/** The field of a contact address. @param contactEmail the present one */
export const contactFields = ({ contactEmail }: Pick<ApplicationDetail, 'contactEmail'>): Html =>
  html`<div>
    <label for="contact_email">Contact address</label
    ><input${attributes({ id: 'contact_email', name: 'contact_email', type: 'email', maxlength: '320', value: contactEmail ?? '', autocomplete: 'off' })} />
    <p class="hint">Empty: nobody gets mails about webhooks.</p>
  </div>`;

/** The list of applications. */
export function applicationsPage(
  viewer: Viewer,
  list: ListPage<ApplicationItem>,
  filter: FilterValues,
  { now, notice }: { now: Date; notice: Notice | null },
): ConsolePage {
  const used = Object.values(filter).some(Boolean);
  return {
    section: 'applications',
    title: 'Applications',
    notice,
    body: html`${actionBar(viewer, [{ path: `${APPLICATIONS_PATH}/new`, label: 'Create an application…' }])}
    ${filterForm(APPLICATIONS_PATH, APPLICATION_FILTERS, filter)} ${listCount(list, 'application')}
    ${table<ApplicationItem>(
      'Applications',
      [
        {
          title: 'Application',
          kind: 'main',
          cell: ({ id, name, clientId }) =>
            html`<a href="${applicationPath(id)}">${twoLines(name)}</a
              ><span class="sub"
                ><span class="id"
                  ><code>${clientId}</code>${copyButton(clientId, 'client id')}</span
                ></span
              >`,
        },
        { title: 'State', cell: stateChip },
        { title: 'Plan', cell: ({ plan }) => plan },
        { title: 'Accounts', kind: 'number', cell: ({ accounts }) => count(accounts) },
        {
          title: 'Sign-in needed',
          kind: 'number',
          cell: ({ invalidAccounts }) => count(invalidAccounts),
        },
        { title: 'Created', cell: ({ createdAt }) => when(createdAt, now) },
      ],
      list.items,
      {
        title: used ? 'No application matches' : 'No applications yet',
        text: used
          ? html`Use fewer filters, or <a href="${APPLICATIONS_PATH}">show all</a>.`
          : 'An application connects accounts of its users. Create the first one.',
      },
    )}
    ${pager(APPLICATIONS_PATH, filter, list)}`,
  };
}

function actionsFor({ id, suspended, sendingPaused, deletion }: ApplicationDetail): ActionLink[] {
  if (deletion) return [];
  const path = applicationPath(id);
  return [
    sendingPaused
      ? { path: `${path}/resume`, label: 'Resume sending…' }
      : { path: `${path}/pause`, label: 'Pause sending…' },
    suspended
      ? { path: `${path}/activate`, label: 'End the suspension…' }
      : { path: `${path}/suspend`, label: 'Suspend…', danger: true },
    { path: `${path}/contact`, label: 'Contact address…' },
    { path: `${path}/rotate-secret`, label: 'New client secret…' },
    { path: `${path}/delete`, label: 'Delete…', danger: true },
  ];
}

const holdText = (hold: ApplicationItem['suspended'], now: Date): Html | null =>
  hold && html`${exactly(hold.since, now)}${hold.reason ? html`: ${hold.reason}` : null}`;

function deletionPanel({ deletion }: ApplicationDetail, now: Date): Html | null {
  if (!deletion) return null;
  const { requestedAt, requestedBy, accounts, accountsDeleted, step, finishedAt, lastError } =
    deletion;
  return html`<section class="panel">
    <h2>Deletion</h2>
    ${facts([
      ['Begun', html`${exactly(requestedAt, now)} by ${requestedBy}`],
      ['Accounts', `${count(accountsDeleted)} of ${count(accounts)} deleted`],
      ['Step', step],
      ['Finished', finishedAt && exactly(finishedAt, now)],
      ['Last error', lastError],
    ])}
  </section>`;
}

function contactText(
  { contactEmail, mailFailure }: ApplicationDetail,
  sendsMail: boolean,
  now: Date,
): Html | string {
  if (contactEmail === null) return 'none: nobody gets mails about its webhooks';
  if (sendsMail)
    return mailFailure
      ? html`${contactEmail}<span class="sub"
            >The last mail about its webhooks could not be sent ${when(mailFailure.at, now)}:
            ${mailFailure.reason}</span
          >`
      : contactEmail;
  return html`${contactEmail}<span class="sub">gets no mail: OPERATOR_SMTP_URL is not set</span>`;
}

/** What the page of an application shows besides the application. */
interface ApplicationView {
  /** Whether mails can be sent to its contact address. */
  sendsMail: boolean;
  now: Date;
  notice: Notice | null;
  use: ApiUseList;
  ceilings: readonly ApplicationCeiling[];
}

/** One application: its accounts, webhooks and state. */
export function applicationPage(
  viewer: Viewer,
  application: ApplicationDetail,
  { now, notice, use, ceilings, sendsMail }: ApplicationView,
): ConsolePage {
  const { id, clientId, webhooks } = application;
  const accounts = address(ACCOUNTS_PATH, { application: id });
  const invalid = address(ACCOUNTS_PATH, { application: id, health: 'invalid-credentials' });
  const hooks = address(WEBHOOKS_PATH, { application: id });
  return {
    section: 'applications',
    title: application.name,
    beside: stateChip(application),
    crumbs: [{ path: APPLICATIONS_PATH, label: 'Applications' }],
    notice,
    body: html`${actionBar(viewer, actionsFor(application))}
      <div class="columns">
        <div class="stack">
          ${deletionPanel(application, now)}
          <section class="panel">
            <h2>Application</h2>
            ${facts([
              [
                'Client id',
                html`<span class="id"
                  ><code>${clientId}</code>${copyButton(clientId, 'client id')}</span
                >`,
              ],
              ['Id', wholeId(id, 'application id')],
              ['Plan', application.plan],
              ['Features', application.features.join(', ') || 'none'],
              ['Region', application.region],
              ['Contact address', contactText(application, sendsMail, now)],
              ['Created', exactly(application.createdAt, now)],
              ['Sending paused', holdText(application.sendingPaused, now)],
              ['Suspended', holdText(application.suspended, now)],
              [
                'Redirect addresses',
                application.redirectUris.length > 0
                  ? application.redirectUris.map((uri) => html`<div><code>${uri}</code></div>`)
                  : 'none',
              ],
              ['Scopes it may ask for', application.allowedScopes?.join(', ') ?? 'all'],
              [
                'Integrations',
                application.integrations
                  .map(({ name, provider }) => `${name} (${provider})`)
                  .join(', ') || 'none',
              ],
            ])}
          </section>
        </div>
        <div class="stack">
          ${apiUsePanel(use)}${ceilingsPanel(viewer, applicationPath(id), ceilings, use.items)}
          <section class="panel">
            <h2>Accounts</h2>
            <p>
              <a href="${accounts}">${counted(application.accounts, 'account')}</a
              >${application.invalidAccounts > 0 ? html`, <a href="${invalid}">${count(application.invalidAccounts)} need to sign in again</a>` : null}
            </p>
            ${application.pausedMessages > 0 ? html`<p>${counted(application.pausedMessages, 'message')} wait because sending is paused.</p>` : null}
          </section>
          <section class="panel">
            <h2>Webhooks</h2>
            <p>
              <a href="${hooks}"
                >${counted(webhooks.active + webhooks.failing + webhooks.failed, 'webhook')}</a
              >: ${count(webhooks.active)} active, ${count(webhooks.failing)} failing,
              ${count(webhooks.failed)} switched off
            </p>
          </section>
          <section class="panel">
            <h2>Audit log</h2>
            <p>
              <a href="${address('/console/audit', { application: id })}"
                >What was done to this application</a
              >
            </p>
          </section>
        </div>
      </div>`,
  };
}
