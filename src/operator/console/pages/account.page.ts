import { html, type Html } from '../../../platform/pages/html.ts';
import type { Completeness } from '../../../sync/completeness/completeness.service.ts';
import type { ManagedToken } from '../../../accounts/grants/tokens/grant-tokens.service.ts';
import type { AccountDetail, AccountItem, SendingPause } from '../../accounts/account-health.ts';
import { type ActionLink, actionBar, type Viewer } from '../kit/actions.ts';
import { chip } from '../kit/chip.ts';
import { count, counted } from '../kit/figures.ts';
import { wholeId } from '../kit/id.ts';
import type { ConsolePage, Crumb, Notice } from '../kit/layout.ts';
import { HEALTH_ADVICE, healthChip } from '../kit/states.ts';
import { address, facts, table } from '../kit/table.ts';
import { duration, exactly, relative, when } from '../kit/time.ts';
import { verbatim } from '../kit/timeline.ts';
import { ACCOUNTS_PATH } from './accounts.page.ts';
import { JOBS_PATH } from './jobs.page.ts';

export const accountPath = (id: string): string => `${ACCOUNTS_PATH}/${id}`;

/** The way from the list of accounts to one of them. */
export const accountCrumbs = ({ id, email }: Pick<AccountItem, 'id' | 'email'>): Crumb[] => [
  { path: ACCOUNTS_PATH, label: 'Accounts' },
  { path: accountPath(id), label: email },
];

const actionsFor = ({ id, sendingPaused }: AccountDetail): ActionLink[] => [
  sendingPaused
    ? { path: `${accountPath(id)}/resume`, label: 'Resume sending…' }
    : { path: `${accountPath(id)}/pause`, label: 'Pause sending…' },
  { path: `${accountPath(id)}/sign-in-link`, label: 'Sign-in link…' },
  { path: `${accountPath(id)}/tokens/new`, label: 'Access token…' },
];

function problemList({ problems }: AccountDetail): Html | null {
  if (problems.length === 0) return null;
  return html`<section class="panel">
    <h2>What is wrong</h2>
    <ul class="problems">
      ${problems.map(
        ({ health, reason }) =>
          html`<li>
            ${healthChip(health)}
            <p>${HEALTH_ADVICE[health]}</p>
            ${reason ? verbatim(reason) : null}
          </li>`,
      )}
    </ul>
  </section>`;
}

const pauseText = (pause: SendingPause | null, now: Date): Html | null =>
  pause && html`since ${when(pause.since, now)}${pause.reason ? html`: ${pause.reason}` : null}`;

function sendingFacts(account: AccountDetail, now: Date): Html {
  const { messages, gate, sendingPaused, applicationSendingPaused, applicationSuspended } = account;
  const waiting = address(JOBS_PATH, { account: account.id, kind: 'message', state: 'open' });
  return html`<section class="panel">
    <h2>Sending</h2>
    ${facts([
      [
        'Waiting',
        html`<a href="${waiting}">${counted(messages.open, 'message')}</a
          >${messages.paused > 0 ? html` <span class="aside">${count(messages.paused)} because of the pause</span>` : null}`,
      ],
      ['First deadline', messages.firstDeadline && exactly(messages.firstDeadline, now)],
      ['Paused', pauseText(sendingPaused, now)],
      ['Application paused', pauseText(applicationSendingPaused, now)],
      ['Application suspended', pauseText(applicationSuspended, now)],
      [
        'Circuit breaker',
        gate.openUntil
          ? html`${chip('bad', 'stopped')} until ${exactly(gate.openUntil, now)}`
          : 'running',
      ],
      ['Its reason', gate.reason],
      ['Troubles in a row', gate.failures > 0 ? count(gate.failures) : null],
    ])}
  </section>`;
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** How far the account is proven to be complete, in one line. */
function proofText({ complete, reasons, days, collections }: Completeness): Html | string {
  const webhooks = days.flatMap((day) => day.webhooks);
  const expected = sumOf(webhooks.map((webhook) => webhook.expected));
  const handedOver = sumOf(webhooks.map((webhook) => webhook.handedOver));
  const events = html`<span class="aside"
    >${count(handedOver)} of ${counted(expected, 'event')} handed over</span
  >`;
  if (complete)
    return html`${chip('good', 'proven')} for the last ${counted(days.length, 'day')} ${events}`;
  const open = days.filter((day) => !day.complete).length;
  const objects = [...days.flatMap((day) => day.changes), ...collections];
  const missing = sumOf([
    ...objects.map((one) => one.missing),
    ...days.map((day) => day.messages.missing),
  ]);
  const why = reasons.map((reason) => reason.replaceAll('_', ' ')).join(', ');
  return html`${chip('warning', 'not proven')} ${why}
    <span class="aside">${count(open)} of ${counted(days.length, 'day')}</span> ${events}
    ${missing > 0 ? html`<span class="aside">${counted(missing, 'object')} missing</span>` : ''}`;
}

function syncFacts({ sync, audit }: AccountDetail, proof: Completeness, now: Date): Html {
  return html`<section class="panel">
    <h2>Sync</h2>
    ${facts([
      ['State', sync.state],
      ['Why', sync.reason],
      [
        'Current since',
        sync.currentSince ? exactly(sync.currentSince, now) : 'The history is being listed',
      ],
      ['Contents to read', sync.contentsLeft > 0 ? count(sync.contentsLeft) : null],
      [
        'Next pass',
        sync.running ? 'running now' : sync.nextPassAt && exactly(sync.nextPassAt, now),
      ],
      ['Behind', sync.lagSeconds > 0 ? duration(sync.lagSeconds * 1000) : null],
      ['Failures', sync.failures > 0 ? count(sync.failures) : null],
      ['Workers that died', sync.crashes > 0 ? count(sync.crashes) : null],
      ['Unreadable messages', sync.unreadableMessages > 0 ? count(sync.unreadableMessages) : null],
      [
        'Last audit',
        audit?.checkedAt &&
          html`${relative(audit.checkedAt, now)}: ${counted(audit.messagesChecked, 'message')}
          checked, ${counted(audit.differencesFound, 'difference')}, ${count(audit.unrepaired)} left`,
      ],
      ['Completeness', proofText(proof)],
    ])}
  </section>`;
}

function accountFacts(account: AccountDetail, now: Date): Html {
  return html`<section class="panel">
    <h2>Account</h2>
    ${facts([
      ['Id', wholeId(account.id, 'account id')],
      ['Name', account.name],
      ['Provider', account.provider],
      [
        'Application',
        html`<a href="/console/applications/${account.applicationId}"
          >${account.applicationName}</a
        >`,
      ],
      [
        'Credentials',
        `${account.grantStatus === 'valid' ? 'accepted' : 'refused'}, ${account.byOauth ? 'OAuth' : 'password'}`,
      ],
      ['Billing', account.billingState],
      ['Proof of the address', account.proof ?? 'none'],
      ['Connected', exactly(account.connectedAt, now)],
      ['Linked', exactly(account.linkedAt, now)],
      [
        'Used today',
        account.quotas.length > 0
          ? account.quotas
              .map(
                ({ quota, used, reachedAt }) =>
                  `${quota}: ${count(used)}${reachedAt ? ' (limit reached)' : ''}`,
              )
              .join(', ')
          : null,
      ],
    ])}
  </section>`;
}

const errorList = ({ errors }: AccountDetail, now: Date): Html | null =>
  errors.length === 0
    ? null
    : html`<section class="panel">
        <h2>Last errors</h2>
        <ul class="problems">
          ${errors.map(
            ({ at, what, text }) =>
              html`<li>
                <p>
                  <strong>${what}</strong
                  >${at ? html` <span class="aside">${when(at, now)}</span>` : null}
                </p>
                ${verbatim(text)}
              </li>`,
          )}
        </ul>
      </section>`;

const WATCH_TONES = {
  live: 'good',
  pending: 'busy',
  ending: 'idle',
  unsupported: 'idle',
  expiring: 'warning',
  expired: 'bad',
  failing: 'bad',
} as const;

const watchTable = ({ watches }: AccountDetail, now: Date): Html =>
  html`<section class="panel">
    <h2>Watches</h2>
    ${table(
      'Watches',
      [
        {
          title: 'Resource',
          kind: 'main',
          cell: ({ resource, error }) =>
            html`${resource}${error ? html`<span class="sub">${error}</span>` : null}`,
        },
        { title: 'State', cell: ({ state }) => chip(WATCH_TONES[state], state) },
        { title: 'Kind', cell: ({ kind }) => kind },
        { title: 'Last notification', cell: ({ notifiedAt }) => when(notifiedAt, now) },
        { title: 'Ends', cell: ({ expiresAt }) => when(expiresAt, now) },
      ],
      watches,
      { title: 'No watches', text: 'Changes are read by scheduled passes.' },
    )}
  </section>`;

const tokenTable = (
  viewer: Viewer,
  account: AccountItem,
  tokens: readonly ManagedToken[],
  now: Date,
) =>
  html`<section class="panel">
    <h2>Access tokens</h2>
    ${table<ManagedToken>(
      'Access tokens',
      [
        { title: 'Token', kind: 'main', cell: ({ id }) => wholeId(id, 'token id') },
        { title: 'State', cell: ({ state }) => chip(state === 'valid' ? 'good' : 'idle', state) },
        { title: 'Scopes', cell: ({ scopes }) => scopes.join(', ') || 'none' },
        { title: 'Made', cell: ({ createdAt }) => when(createdAt, now) },
        { title: 'Last used', cell: ({ lastUsedAt }) => when(lastUsedAt, now) },
        { title: 'Expires', cell: ({ expiresAt }) => when(expiresAt, now) },
        ...(viewer.role === 'operate'
          ? [
              {
                title: '',
                cell: ({ id, state }: ManagedToken) =>
                  state === 'valid'
                    ? html`<a
                        class="button small danger"
                        href="${accountPath(account.id)}/tokens/${id}/revoke"
                        >Revoke…</a
                      >`
                    : null,
              },
            ]
          : []),
      ],
      tokens,
      {
        title: 'No access tokens',
        text: 'An application gets one when a user signs in. You can make one above.',
      },
    )}
  </section>`;

/** One account: what is wrong and what to do, its mirror, its sending, watches and tokens. */
export function accountPage(
  viewer: Viewer,
  account: AccountDetail,
  {
    now,
    notice,
    tokens,
    proof,
  }: {
    now: Date;
    notice: Notice | null;
    tokens: readonly ManagedToken[];
    proof: Completeness;
  },
): ConsolePage {
  return {
    section: 'accounts',
    title: account.email,
    beside: healthChip(account.health),
    crumbs: [{ path: ACCOUNTS_PATH, label: 'Accounts' }],
    notice,
    body: html`${actionBar(viewer, actionsFor(account))}
      <div class="columns">
        <div class="stack">
          ${problemList(account)}${errorList(account, now)}${sendingFacts(account, now)}
        </div>
        <div class="stack">${accountFacts(account, now)}${syncFacts(account, proof, now)}</div>
      </div>
      ${watchTable(account, now)}${tokenTable(viewer, account, tokens, now)}`,
  };
}
