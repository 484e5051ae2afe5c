import { attributes, html, type Html, type HtmlValue } from '../../../platform/pages/html.ts';
import type { PageOf } from '../../../platform/database/page-token.ts';
import { MOST_COUNTED } from '../../search/search-limit.ts';
import { count, counted } from './figures.ts';
import { icon } from './icons.ts';

/** A column of a table. */
export interface Column<T> {
  title: string;
  cell: (row: T) => HtmlValue;
  /** `number` aligns at the right, `main` names the row, `wide` is not made narrow. */
  kind?: 'number' | 'main' | 'wide' | undefined;
}

/**
 * A text of at most two lines. A mouse pointer over it shows all of it, and the page of the item
 * has it whole.
 */
export const twoLines = (text: string): Html =>
  html`<span class="two-lines" title="${text}">${text}</span>`;

/** A smaller text of at most two lines below the name of a row. */
export const subLine = (text: string | null): Html | null =>
  text ? html`<span class="sub two-lines" title="${text}">${text}</span>` : null;

/** What a list shows when it has no rows. */
export interface Empty {
  title: string;
  /** What the operator can do about it, or what will appear here. */
  text: HtmlValue;
}

export const emptyState = ({ title, text }: Empty): Html =>
  html`<div class="empty">
    <p class="empty-title">${title}</p>
    <p>${text}</p>
  </div>`;

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
    html`<td role="cell" ${attributes({ class: kind, 'data-title': title || undefined })}>
      <div class="cell">${render(row)}</div>
    </td>`;
  return html`<div${attributes({ class: numbers >= MANY_NUMBERS ? 'table-frame many-numbers' : 'table-frame' })}><table role="table">
    <caption class="unseen">${caption}</caption>
    <thead role="rowgroup"><tr role="row">${columns.map(
      ({ title, kind }) =>
        html`<th role="columnheader" scope="col" ${attributes({ class: kind })}>
          ${title || html`<span class="unseen">Details</span>`}
        </th>`,
    )}</tr></thead>
    <tbody role="rowgroup">${rows.map(
      (row) =>
        html`<tr role="row">
          ${columns.map((column) => cell(column, row))}
        </tr>`,
    )}</tbody>
  </table></div>`;
}

/** Names with values, as a description list. Values that render as nothing are left out. */
export const facts = (entries: readonly (readonly [name: string, value: HtmlValue])[]): Html =>
  html`<dl class="facts">
    ${entries.map(([name, value]) =>
      value === null || value === undefined || value === false || value === ''
        ? null
        : html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
    )}
  </dl>`;

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

/** The page of a list that an address asks for. */
export interface ListPosition {
  /** Token of the page; absent for the first one. */
  pageToken: string | undefined;
  /** Number of the page's first item in the list, from 1 on. */
  from: number;
}

/** A page of a list, as its table and its head show it. */
export interface ListPage<T> extends PageOf<T>, ListPosition {
  /** Items of all pages, counted up to `MOST_COUNTED`; `null` = not counted. */
  total: number | null;
}

/**
 * What a page of a list shows, such as `1–50 of 312 jobs`, or `51–100 of more than 10,000 jobs`.
 * Nothing above an empty list.
 */
export function listCount(
  { items, from, total, nextPageToken }: ListPage<unknown>,
  one: string,
  many = `${one}s`,
): Html | null {
  if (items.length === 0) return null;
  const to = from + items.length - 1;
  const isAll = from === 1 && nextPageToken === null;
  const range = `${count(from)}–${count(to)}`;
  const isMore = total !== null && total > MOST_COUNTED;
  // The list may have become shorter since the page before.
  const known = isMore || (total !== null && total >= to);
  const text = isAll
    ? counted(items.length, one, many)
    : known
      ? `${range} of ${isMore ? `more than ${count(MOST_COUNTED)}` : count(total ?? 0)} ${many}`
      : `${many} ${range}`;
  return html`<p class="list-count">${text}</p>`;
}

/** Links to the first page and the next one of a list. Nothing if one page holds everything. */
export function pager(
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  { items, nextPageToken, pageToken, from }: Omit<ListPage<unknown>, 'total'>,
): Html | null {
  if (!pageToken && nextPageToken === null) return null;
  const position = { page_token: nextPageToken, from: String(from + items.length) };
  const next = nextPageToken && address(path, { ...query, ...position });
  return html`<nav class="pager" aria-label="Pages of the list">
    ${pageToken ? html`<a class="button small" href="${address(path, query)}">First page</a>` : null}
    ${next ? html`<a class="button small" rel="next" href="${next}">Next page ${icon('right')}</a>` : html`<span class="aside">End of the list</span>`}
  </nav>`;
}
