import { html, type Html } from '../../../platform/pages/html.ts';
import type {
  DatabaseIdentity,
  RecordedIdentity,
} from '../../../platform/work/workers/database-identity.ts';
import type { InstanceReport, QueueCount } from '../../instance/operator-instance.ts';
import { actionBar, type Viewer } from '../kit/actions.ts';
import { chip } from '../kit/chip.ts';
import { count, counted } from '../kit/figures.ts';
import type { ConsolePage, Notice } from '../kit/layout.ts';
import { type Column, facts, table } from '../kit/table.ts';
import { exactly } from '../kit/time.ts';
import { actionPage } from '../pages/action.page.ts';

export const INSTANCE_PATH = '/console/instance';

const PARTS: readonly (readonly [part: keyof DatabaseIdentity, name: string])[] = [
  ['name', 'Installation'],
  ['address', 'Address of the database'],
  ['database', 'Number and name'],
  ['server', 'Identifier of the server'],
  ['doubt', 'What a worker noticed'],
];

/** A part of the identity, as recorded and as the workers see it. */
interface Part {
  name: string;
  recorded: string | undefined;
  here: string | undefined;
}

const partColumns: readonly Column<Part>[] = [
  { title: 'Part', kind: 'main', cell: ({ name }) => name },
  { title: 'The database belongs to', kind: 'wide', cell: ({ recorded }) => recorded ?? '–' },
  {
    title: 'The workers see',
    kind: 'wide',
    cell: ({ recorded, here }) =>
      html`${here ?? '–'}${recorded === here ? null : html` ${chip('warning', 'differs')}`}`,
  },
];

function comparison({ recorded, here }: InstanceReport): Html {
  const parts = PARTS.map(([part, name]) => ({
    name,
    recorded: recorded?.[part],
    here: here[part],
  }));
  const known = parts.filter((part) => part.recorded !== undefined || part.here !== undefined);
  return html`<section class="panel">
    <h2>What the workers noticed</h2>
    ${table('What the workers noticed', partColumns, known, { title: '', text: '' })}
  </section>`;
}

const waitingText = ({ open, overdue }: QueueCount): string =>
  `${count(open)}, ${count(overdue)} of them overdue`;

const waiting = (report: InstanceReport): Html =>
  html`<section class="panel">
    <h2>What waits in the database</h2>
    ${facts([
      ['Messages to send', waitingText(report.messages)],
      ['Reminders to send', waitingText(report.reminders)],
      [
        `Deliveries to ${counted(report.active_webhooks, 'webhook')}`,
        waitingText(report.deliveries),
      ],
      ['Changes to write to providers', waitingText(report.provider_writes)],
      ['Workers that use the database', count(report.workers)],
    ])}
  </section>`;

/** Which installation the database belongs to, and whether workers refuse it. */
export function instancePage(
  viewer: Viewer,
  known: RecordedIdentity | undefined,
  refusal: InstanceReport | null,
  { now, notice }: { now: Date; notice: Notice | null },
): ConsolePage {
  const agreed = html`<section class="panel">
    <h2>The database</h2>
    ${facts([
      ...PARTS.map(([part, name]) => [name, known?.place[part]] as const),
      ['Confirmed', known && exactly(known.confirmedAt, now)],
    ])}
  </section>`;
  return {
    section: 'instance',
    title: 'Instance',
    beside: refusal ? chip('bad', 'refused by workers') : chip('good', 'in use'),
    lead: refusal
      ? 'The database was restored, copied or moved. Workers send nothing until an operator decides.'
      : 'Which installation the database belongs to. No running worker refuses it.',
    notice,
    body: refusal
      ? html`${actionBar(viewer, [{ path: `${INSTANCE_PATH}/confirm`, label: 'Confirm the database…', danger: true }])}${comparison(refusal)}${waiting(refusal)}`
      : agreed,
  };
}

const cancelField = (name: string, label: string): Html =>
  html`<div>
    <label for="${name}">${label}</label
    ><select id="${name}" name="${name}">
      <option value="">Keep all: they are sent</option>
      <option value="overdue">Cancel those that are overdue</option>
      <option value="all">Cancel all</option>
    </select>
  </div>`;

/** Asks before the database is confirmed. */
export function confirmInstancePage(viewer: Viewer, report: InstanceReport): ConsolePage {
  const { workers, differences } = report;
  const running =
    workers > 0
      ? ` ${counted(workers, 'worker')} of another installation use the database now, and will stop.`
      : '';
  const page = actionPage(viewer, {
    section: 'instance',
    title: 'Confirm the database?',
    consequences: `The workers that refuse the database take it over, and send what waits in it. A backup still lists messages that were sent after it was made: cancel what is overdue if it is one.${running}`,
    crumbs: [{ path: INSTANCE_PATH, label: 'Instance' }],
    sample: html`${comparison(report)}${waiting(report)}`,
    path: `${INSTANCE_PATH}/confirm`,
    hidden: { shown: differences },
    fields: html`${cancelField('cancel_sends', 'Messages that wait')}${cancelField('cancel_reminders', 'Reminders that wait')}
      <label class="check"
        ><input type="checkbox" name="pause_webhooks" value="true" /> First stop the webhooks of all
        applications, for example on a copy for tests</label
      >`,
    button: 'Confirm the database',
    danger: true,
    back: INSTANCE_PATH,
  });
  return page;
}
