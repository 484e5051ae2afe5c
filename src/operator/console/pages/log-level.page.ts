import { attributes, html, type Html } from '../../../platform/pages/html.ts';
import { postForm, type Viewer } from '../kit/actions.ts';
import type { ConsolePage, Notice } from '../kit/layout.ts';
import { facts } from '../kit/table.ts';
import { exactly } from '../kit/time.ts';

export const LOG_LEVEL_PATH = '/console/log-level';

/** How long a level can hold, in seconds. */
const LENGTHS = { '600': '10 minutes', '3600': 'an hour', '28800': '8 hours', '86400': 'a day' };

/** The level that holds for all processes; `null` if each has its own. */
export type CurrentLevel = { level: string; until: Date } | null;

const select = (name: string, label: string, options: Readonly<Record<string, string>>): Html =>
  html`<div class="filter"><label for="${name}">${label}</label><select${attributes({ id: name, name })}>${Object.entries(options).map(([value, text]) => html`<option${attributes({ value, selected: value === 'debug' })}>${text}</option>`)}</select></div>`;

/** The level of the logs of all processes, and its change. */
export function logLevelPage(
  viewer: Viewer,
  current: CurrentLevel,
  levels: readonly string[],
  { now, notice }: { now: Date; notice: Notice | null },
): ConsolePage {
  const options = Object.fromEntries(levels.map((level) => [level, level]));
  const fields = html`<div class="filters">
    ${select('level', 'Level', options)}${select('for_seconds', 'For', LENGTHS)}
    <div class="filter-buttons">
      <button class="button primary" type="submit">Change the level</button>
    </div>
  </div>`;
  return {
    section: 'logs',
    title: 'Log level',
    lead: 'Change how much all processes write to their logs, for a while. They follow within five seconds.',
    notice,
    body: html`<section class="panel">
        <h2>Now</h2>
        ${facts([
          ['Level', current ? current.level : 'Each process has its own LOG_LEVEL'],
          ['Until', current && exactly(current.until, now)],
        ])}
      </section>
      ${postForm(viewer, LOG_LEVEL_PATH, fields)}
      ${current && postForm(viewer, `${LOG_LEVEL_PATH}/reset`, html`<div class="actions"><button class="button" type="submit">Give each process its own level again</button></div>`)}`,
  };
}
