import { html, type Html } from '../../../platform/pages/html.ts';
import { type OperatorRole, rolesWithin } from '../../access/operator-role.ts';
import type { ListedOperatorToken } from '../../access/operator-tokens.service.ts';
import type { ListedOperator } from '../../access/operators.service.ts';
import { type ActionLink, actionBar, type Viewer } from '../kit/actions.ts';
import { chip } from '../kit/chip.ts';
import { count, counted } from '../kit/figures.ts';
import { wholeId } from '../kit/id.ts';
import type { ConsolePage, Crumb, Notice } from '../kit/layout.ts';
import { address, type Column, facts, subLine, table, twoLines } from '../kit/table.ts';
import { exactly, when } from '../kit/time.ts';
import { OWN_PASSWORD_PATH } from './own-password.page.ts';

export const OPERATORS_PATH = '/console/operators';
export const operatorPath = (id: string): string => `${OPERATORS_PATH}/${id}`;

/** The way from the list of operators to one of them. */
export const operatorCrumbs = ({ id, name }: Pick<ListedOperator, 'id' | 'name'>): Crumb[] => [
  { path: OPERATORS_PATH, label: 'Operators' },
  { path: operatorPath(id), label: name },
];

const roleChip = ({ role }: Pick<ListedOperator, 'role'>): Html =>
  role === 'operate' ? chip('busy', 'operate', 'check') : chip('idle', 'read only');

const stateChip = ({ disabledAt }: ListedOperator): Html =>
  disabledAt ? chip('warning', 'disabled', 'pause') : chip('good', 'active');

function waysIn({ hasPassword, issuer }: ListedOperator): string {
  if (issuer !== null) return `signs in at ${issuer}`;
  return hasPassword ? 'signs in by password' : 'signs in by link only';
}

const ROLE_WORDS: Readonly<Record<OperatorRole, string>> = {
  read: 'read: sees everything but the content of messages',
  operate: 'operate: also changes things, operators included',
};

/** @param most the strongest role that is offered */
const roleField = (most: OperatorRole): Html =>
  html`<div>
    <label for="role">Role</label
    ><select id="role" name="role">
      ${rolesWithin(most).map((role) => html`<option value="${role}">${ROLE_WORDS[role]}</option>`)}
    </select>
  </div>`;

/** The fields of a new operator. */
export const operatorFields = (): Html =>
  html`<div>
      <label for="name">Name</label
      ><input
        id="name"
        name="name"
        type="text"
        required
        maxlength="100"
        autocomplete="off"
        autocapitalize="none"
        spellcheck="false"
      />
      <p class="hint">Letters, digits and the characters . _ @ + -</p>
    </div>
    ${roleField('operate')}`;

/** How long a new token for the admin API works, in seconds. Empty: until it is revoked. */
export const OPERATOR_TOKEN_LIFETIMES = {
  '': 'It is revoked',
  '86400': 'A day has passed',
  '2592000': '30 days have passed',
  '7776000': '90 days have passed',
} as const;

/** The fields of a new token for the admin API. @param role that of the operator */
export const operatorTokenFields = ({ role }: Pick<ListedOperator, 'role'>): Html =>
  html`<div>
      <label for="note">What it is for</label
      ><input id="note" name="note" type="text" maxlength="200" autocomplete="off" />
    </div>
    ${roleField(role)}
    <div>
      <label for="lifetime">It works until</label
      ><select id="lifetime" name="lifetime">
        ${Object.entries(OPERATOR_TOKEN_LIFETIMES).map(([value, text]) => html`<option value="${value}">${text}</option>`)}
      </select>
    </div>`;

const columns = (now: Date): Column<ListedOperator>[] => [
  {
    title: 'Operator',
    kind: 'main',
    cell: (operator) =>
      html`<a href="${operatorPath(operator.id)}">${twoLines(operator.name)}</a
        >${subLine(waysIn(operator))}`,
  },
  { title: 'Role', cell: roleChip },
  { title: 'State', cell: stateChip },
  { title: 'Last sign-in', cell: ({ lastSignInAt }) => when(lastSignInAt, now) },
  { title: 'Sessions', kind: 'number', cell: ({ sessions }) => count(sessions) },
  { title: 'Tokens', kind: 'number', cell: ({ tokens }) => count(tokens) },
  { title: 'Created', cell: ({ createdAt }) => when(createdAt, now) },
];

/** The list of operators. */
export function operatorsPage(
  viewer: Viewer,
  operators: readonly ListedOperator[],
  { now, notice }: { now: Date; notice: Notice | null },
): ConsolePage {
  return {
    section: 'operators',
    title: 'Operators',
    lead: `${counted(operators.length, 'operator')} of this server: who may open the console and use the admin API.`,
    notice,
    body: html`${actionBar(viewer, [{ path: `${OPERATORS_PATH}/new`, label: 'Create an operator…' }])}
    ${table('Operators', columns(now), operators, { title: 'No operators', text: '' })}`,
  };
}

/** Actions on somebody else. Nobody can take the own access away. */
function actionsFor({ id, role, issuer, hasPassword, disabledAt }: ListedOperator): ActionLink[] {
  const path = operatorPath(id);
  const roleAction =
    role === 'read'
      ? { path: `${path}/operate`, label: 'Let change things…' }
      : { path: `${path}/read`, label: 'Restrict to reading…' };
  return [
    ...(disabledAt
      ? [{ path: `${path}/enable`, label: 'Enable…' }]
      : [
          { path: `${path}/sign-in-link`, label: 'Sign-in link…' },
          ...(hasPassword
            ? [{ path: `${path}/reset-password`, label: 'Reset the password…' }]
            : []),
        ]),
    ...(issuer === null ? [roleAction] : []),
    ...(disabledAt ? [] : [{ path: `${path}/disable`, label: 'Disable…', danger: true }]),
    { path: `${path}/remove`, label: 'Remove…', danger: true },
  ];
}

const tokenColumns = (viewer: Viewer, id: string, now: Date): Column<ListedOperatorToken>[] => [
  {
    title: 'Token',
    kind: 'main',
    cell: (token) =>
      html`${twoLines(token.note || 'without a note')}<span class="sub"
          >${wholeId(token.id, 'token id')}</span
        >`,
  },
  { title: 'Role', cell: roleChip },
  { title: 'Made', cell: ({ createdAt }) => when(createdAt, now) },
  { title: 'Last used', cell: ({ lastUsedAt }) => when(lastUsedAt, now) },
  { title: 'Expires', cell: ({ expiresAt }) => when(expiresAt, now) },
  ...(viewer.role === 'operate'
    ? [
        {
          title: '',
          cell: (token: ListedOperatorToken) =>
            html`<a class="button small danger" href="${operatorPath(id)}/tokens/${token.id}/revoke"
              >Revoke…</a
            >`,
        },
      ]
    : []),
];

const operatorFacts = (operator: ListedOperator, now: Date): Html =>
  html`<section class="panel">
    <h2>Operator</h2>
    ${facts([
      ['Role', roleChip(operator)],
      ['Sign-in', waysIn(operator)],
      ['Last sign-in', exactly(operator.lastSignInAt, now)],
      ['Sessions', count(operator.sessions)],
      ['Disabled', operator.disabledAt && exactly(operator.disabledAt, now)],
      ['Created', exactly(operator.createdAt, now)],
      ['Id', wholeId(operator.id, 'operator id')],
    ])}
  </section>`;

/** One operator with its tokens. @param own whether the viewer is this operator */
export function operatorPage(
  viewer: Viewer,
  operator: ListedOperator,
  tokens: readonly ListedOperatorToken[],
  { now, notice, own }: { now: Date; notice: Notice | null; own: boolean },
): ConsolePage {
  const { id, name } = operator;
  const actions = own
    ? [{ path: OWN_PASSWORD_PATH, label: 'Your password…' }]
    : actionsFor(operator);
  const made = { path: `${operatorPath(id)}/tokens/new`, label: 'Token for the admin API…' };
  return {
    section: 'operators',
    title: name,
    beside: stateChip(operator),
    crumbs: [{ path: OPERATORS_PATH, label: 'Operators' }],
    notice,
    body: html`${actionBar(viewer, [...actions, made])} ${operatorFacts(operator, now)}
      <section class="panel">
        <h2>Tokens for the admin API</h2>
        ${table('Tokens for the admin API', tokenColumns(viewer, id, now), tokens, { title: 'No tokens', text: 'A token lets a script use the admin API as this operator.' })}
      </section>
      <section class="panel">
        <h2>Audit log</h2>
        <p>
          <a href="${address('/console/audit', { actor: id })}">What ${name} did</a>,
          <a href="${address('/console/audit', { target: id })}">what was done to ${name}</a>
        </p>
      </section>`,
  };
}
