import { describeApi } from '../../../platform/budgets/company-api.ts';
import { attributes, html, type Html } from '../../../platform/pages/html.ts';
import type { ApiUseState } from '../../api-use/api-use.ts';
import { type ApplicationCeiling, MOST_CEILING } from '../../api-use/operator-ceilings.ts';
import { actionBar, type Viewer } from '../kit/actions.ts';
import { count } from '../kit/figures.ts';
import { table } from '../kit/table.ts';

/** The page that asks for a ceiling, below the page of the application. */
export const ceilingPath = (applicationPath: string): string => `${applicationPath}/ceiling`;

const countedOf = ({ api }: Pick<ApplicationCeiling, 'api'>): string =>
  describeApi(api).counts === 'units' ? 'quota units' : 'requests';

function ceilingCell(one: ApplicationCeiling): Html {
  const { api, ceiling, isOwn } = one;
  const source = isOwn ? 'set for this application' : `by ${describeApi(api).ceilingSetting}`;
  const text = ceiling === null ? 'none' : `${count(ceiling)} ${countedOf(one)} a day`;
  return html`${text}<span class="sub">${source}</span>`;
}

/** The ceilings of an application, with what it has used. */
export function ceilingsTable(
  ceilings: readonly ApplicationCeiling[],
  use: readonly ApiUseState[],
): Html {
  const used = (one: ApplicationCeiling) => use.find(({ api }) => api === one.api);
  return table<ApplicationCeiling>(
    'What the application may use of the APIs of companies',
    [
      { title: 'API', kind: 'main', cell: ({ api }) => describeApi(api).title },
      { title: 'Ceiling', cell: ceilingCell },
      { title: 'Today', kind: 'number', cell: (one) => count(used(one)?.today ?? 0) },
      { title: 'This month', kind: 'number', cell: (one) => count(used(one)?.month ?? 0) },
    ],
    ceilings,
    { title: 'No ceilings', text: 'Nothing limits what the application may use in a day.' },
  );
}

/** The ceilings on the page of an application, with the link that changes one. */
export function ceilingsPanel(
  viewer: Viewer,
  path: string,
  ceilings: readonly ApplicationCeiling[],
  use: readonly ApiUseState[],
): Html {
  return html`<section class="panel">
    <h2>Ceilings</h2>
    ${ceilingsTable(ceilings, use)}
    ${actionBar(viewer, [{ path: ceilingPath(path), label: 'Change a ceiling…' }])}
  </section>`;
}

/** The fields of a new ceiling. */
export const ceilingFields = (ceilings: readonly ApplicationCeiling[]): Html =>
  html`<div>
      <label for="api">API</label
      ><select id="api" name="api">
        ${ceilings.map((one) => html`<option value="${one.api}">${describeApi(one.api).title} (${countedOf(one)})</option>`)}
      </select>
    </div>
    <div>
      <label for="units">Ceiling of a day (UTC)</label
      ><input${attributes({ id: 'units', name: 'units', type: 'number', min: '0', max: String(MOST_CEILING), step: '1', autocomplete: 'off' })} />
      <p class="hint">0: no ceiling. Empty: the ceiling of the setting applies again.</p>
    </div>`;
