import { attributes, html, type Html, type HtmlValue } from '../../../platform/pages/html.ts';
import { icon } from './icons.ts';

/** A column of a table. */
export interface Column<T> {
  title: string;
  cell: (row: T) => HtmlValue;
  /** `number` aligns at the right, `main` names the row, `wide` is not made narrow. */
  kind?: 'number' | 'main' | 'wide' | undefined;
}

/** What a list shows when it has no rows. */
export interface Empty {
  title: string;
  /** What the operator can do about it, or what will appear here. */
  text: HtmlValue;
}

export const emptyState = ({ title, text }: Empty): Html =>
  html`<div class="empty"><p class="empty-title">${title}</p><p>${text}</p></div>`; // prettier-ignore

/** On narrow screens, so many numbers stand side by side. */
const MANY_NUMBERS = 3;

/**
 * A table that becomes a list of cards on narrow screens. The roles are written out, because
 * browsers drop those of elements that are not displayed as tables.
 * @param caption for screen readers
 */
export function table<T>(
  caption: string,
  columns: readonly Column<T>[],
  rows: readonly T[],
  empty: Empty,
): Html {
  if (rows.length === 0) return emptyState(empty);
  const numbers = columns.filter(({ kind }) => kind === 'number').length;
  const cell = ({ title, kind, cell: render }: Column<T>, row: T): Html =>
    html`<td role="cell"${attributes({ class: kind, 'data-title': title || undefined })}><div class="cell">${render(row)}</div></td>`; // prettier-ignore
  return html`<div${attributes({ class: numbers >= MANY_NUMBERS ? 'table-frame many-numbers' : 'table-frame' })}><table role="table">
    <caption class="unseen">${caption}</caption>
    <thead role="rowgroup"><tr role="row">${columns.map(
      ({ title, kind }) =>
        html`<th role="columnheader" scope="col"${attributes({ class: kind })}>${title || html`<span class="unseen">Details</span>`}</th>`,
    )}</tr></thead>
    <tbody role="rowgroup">${rows.map((row) => html`<tr role="row">${columns.map((column) => cell(column, row))}</tr>`)}</tbody>
  </table></div>`; // prettier-ignore
}

/** Names with values, as a description list. Values that render as nothing are left out. */
export const facts = (entries: readonly (readonly [name: string, value: HtmlValue])[]): Html =>
  html`<dl class="facts">${entries.map(([name, value]) =>
    value === null || value === undefined || value === false || value === ''
      ? null
      : html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`; // prettier-ignore

/** The address of a page with filters. Empty values are left out. */
export function address(
  path: string,
  query: Readonly<Record<string, string | null | undefined>>,
): string {
  const used = Object.entries(query).filter((entry): entry is [string, string] =>
    Boolean(entry[1]),
  );
  return used.length === 0 ? path : `${path}?${new URLSearchParams(used).toString()}`;
}

/** Links to the first page and the next one of a list. Nothing if one page holds everything. */
export function pager(
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  pageToken: string | undefined,
  nextPageToken: string | null,
): Html | null {
  if (!pageToken && nextPageToken === null) return null;
  const next = nextPageToken && address(path, { ...query, page_token: nextPageToken });
  return html`<nav class="pager" aria-label="Pages of the list">
    ${pageToken ? html`<a class="button small" href="${address(path, query)}">First page</a>` : null}
    ${next ? html`<a class="button small" rel="next" href="${next}">Next page ${icon('right')}</a>` : html`<span class="aside">End of the list</span>`}
  </nav>`; // prettier-ignore
}
