import { html, type Html, type HtmlValue } from '../../../platform/pages/html.ts';
import { SIGNS, type Tone } from './chip.ts';
import { icon } from './icons.ts';
import { emptyState } from './table.ts';
import { absolute, relative } from './time.ts';

/** One entry of a timeline. */
export interface Moment {
  /** `null` if it was not recorded. */
  at: Date | null;
  tone: Tone;
  title: string;
  /** Further lines below the title. */
  details?: HtmlValue;
  /** Words of a server that others run, shown verbatim. */
  words?: string | null;
}

/** Words of a server that others run, verbatim. */
export const verbatim = (words: string): Html =>
  html`<pre class="verbatim" tabindex="0">${words}</pre>`;

/** What happened, in the given order. */
export function timeline(moments: readonly Moment[], now: Date): Html {
  if (moments.length === 0)
    return emptyState({ title: 'Nothing has happened yet', text: 'Attempts appear here.' });
  return html`<ol class="timeline">
    ${moments.map(
      ({ at, tone, title, details, words }) =>
        html`<li class="moment moment-${tone}">
          <span class="moment-sign">${icon(SIGNS[tone])}</span>
          <div class="moment-body">
            <p class="moment-title">${title}</p>
            ${at ? html`<p class="moment-time"><time datetime="${at.toISOString()}">${absolute(at)}</time> · ${relative(at, now)}</p>` : null}${details}${words ? verbatim(words) : null}
          </div>
        </li>`,
    )}
  </ol>`;
}
