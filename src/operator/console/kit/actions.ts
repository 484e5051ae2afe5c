import { attributes, html, type Html, type HtmlValue } from '../../../platform/pages/html.ts';
import { count as figure } from './figures.ts';
import { icon } from './icons.ts';
import { emptyState } from './table.ts';

/** The session that looks at a page. */
export interface Viewer {
  name: string;
  role: 'read' | 'operate';
  /** Goes into every form (`operator/access`). */
  csrfToken: string;
}

/** A form that changes something. Operators with the role read see nothing of it. */
export function postForm(
  viewer: Viewer,
  action: string,
  content: HtmlValue,
  hidden: Readonly<Record<string, string>> = {},
): Html | null {
  if (viewer.role !== 'operate') return null;
  const fields = Object.entries({ csrf_token: viewer.csrfToken, ...hidden });
  return html`<form class="action" method="post" action="${action}">
    ${fields.map(
      ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
    )}${content}
  </form>`;
}

/** A link to the page that shows what an action would do. */
export interface ActionLink {
  path: string;
  label: string;
  danger?: boolean;
}

/** Links to actions, side by side. Nothing for operators with the role read. */
export function actionBar(viewer: Viewer, links: readonly ActionLink[]): Html | null {
  if (viewer.role !== 'operate' || links.length === 0) return null;
  return html`<div class="actions">
    ${links.map(
      ({ path, label, danger }) =>
        html`<a${attributes({ class: danger ? 'button danger' : 'button', href: path })}>${label}</a>`,
    )}
  </div>`;
}

/** What an action would do now. */
export interface DryRun {
  /** How many objects the filter matches. */
  matched: number;
  /** How many of them the action would change. */
  changed: number;
  skipped: readonly { reason: string; count: number }[];
}

/** The page between an action and its execution. */
export interface Confirmation {
  /** What happens then, and what cannot be undone. */
  consequences: HtmlValue;
  /** What the action would do; absent if it does one thing. */
  dryRun?: DryRun;
  /** A table of what it would change. */
  sample?: Html | undefined;
  /** Where the form is sent. */
  path: string;
  hidden?: Readonly<Record<string, string>>;
  /** Further fields of the form. */
  fields?: HtmlValue;
  button: string;
  danger?: boolean;
  back: string;
}

function dryRunFigures({ matched, changed, skipped }: DryRun): Html {
  return html`<section class="panel">
    <h2>What this would do now</h2>
    <dl class="tally">
      <div>
        <dt>Match</dt>
        <dd>${figure(matched)}</dd>
      </div>
      <div class="tally-main">
        <dt>Would change</dt>
        <dd>${figure(changed)}</dd>
      </div>
      <div>
        <dt>Stay as they are</dt>
        <dd>${figure(matched - changed)}</dd>
      </div>
    </dl>
    ${
      skipped.length > 0
        ? html`<ul class="reasons">
            ${skipped.map(({ reason, count }) => html`<li><strong>${figure(count)}</strong> ${reason}</li>`)}
          </ul>`
        : null
    }
  </section>`;
}

/** The body of a page that asks before an action is done. Nothing has been changed yet. */
export function confirmBody(viewer: Viewer, asked: Confirmation): Html {
  const { dryRun, sample, danger = false } = asked;
  const buttons = html`${asked.fields}<div class="actions"><button${attributes({ class: danger ? 'button danger' : 'button primary', type: 'submit' })}>${asked.button}</button><a class="button plain" href="${asked.back}">Go back</a></div>`;
  return html`<div class="confirm${danger ? ' confirm-danger' : ''}">
      ${danger ? icon('warning') : icon('question')}
      <div>
        ${asked.consequences}
        <p class="aside">Nothing has been changed yet.</p>
      </div>
    </div>
    ${dryRun ? dryRunFigures(dryRun) : null}${sample}
    ${dryRun?.changed === 0 ? emptyState({ title: 'There is nothing to do', text: html`<a href="${asked.back}">Go back</a> and choose others.` }) : postForm(viewer, asked.path, buttons, asked.hidden)}`;
}
