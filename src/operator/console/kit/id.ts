import { html, type Html } from '../../../platform/pages/html.ts';
import { icon } from './icons.ts';

const SHOWN = 8;
/** Shorter ids, such as client ids, are shown whole. */
const WHOLE = 20;

const endOf = (id: string): string => (id.length <= WHOLE ? id : `…${id.slice(-SHOWN)}`);

/** Copies a text when pressed. The script shows it; without the script it stays hidden. */
export const copyButton = (text: string, what: string): Html =>
  html`<button
    class="copy"
    type="button"
    hidden
    data-copy="${text}"
    aria-label="Copy ${what}"
    title="Copy ${what}"
  >
    ${icon('copy')}
  </button>`;

/** An id, whole, that can be copied. @param what such as `job id` */
export const wholeId = (id: string, what = 'id'): Html =>
  html`<span class="id"><code>${id}</code>${copyButton(id, what)}</span>`;

/** The end of an id, which differs between ids of the same minute, as a link. */
export const idLink = (id: string, path: string, what = 'id'): Html =>
  html`<span class="id short"
    ><a href="${path}" title="${id}"><code>${endOf(id)}</code></a
    >${copyButton(id, what)}</span
  >`;

/** The end of an id. */
export const shortId = (id: string, what = 'id'): Html =>
  html`<span class="id short"
    ><code title="${id}">${endOf(id)}</code>${copyButton(id, what)}</span
  >`;
