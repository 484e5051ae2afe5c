import { attributes, html, type Html } from '../../../platform/pages/html.ts';
import { icon } from './icons.ts';

/** Values of a filter form by field name, as the address has them. */
export type FilterValues = Readonly<Record<string, string | undefined>>;

/** A field of a filter form. */
export interface Filter {
  name: string;
  label: string;
  /** The choices by value; a text field if absent. The empty value means no filter. */
  options?: Readonly<Record<string, string>>;
  placeholder?: string;
  /** A field that takes the room that the others leave. */
  wide?: boolean;
  /** A field that is hidden until it is asked for, or used. */
  rare?: boolean;
}

const input = ({ name, placeholder }: Filter, value: string): Html =>
  html`<input${attributes({
    id: `filter-${name}`,
    name,
    type: 'search',
    value,
    placeholder,
    maxlength: 300,
    autocomplete: 'off',
    autocapitalize: 'none',
    spellcheck: 'false',
  })} />`;

const select = (name: string, options: Readonly<Record<string, string>>, value: string): Html =>
  html`<select${attributes({ id: `filter-${name}`, name })}>${Object.entries(options).map(
    ([key, text]) =>
      html`<option${attributes({ value: key, selected: key === value })}>${text}</option>`,
  )}</select>`;

function fieldOf(filter: Filter, values: FilterValues): Html {
  const { name, label, options, wide } = filter;
  const value = values[name] ?? '';
  return html`<div${attributes({ class: wide ? 'filter wide' : 'filter' })}><label for="filter-${name}">${label}</label>${options ? select(name, options, value) : input(filter, value)}</div>`;
}

/** Fields that are seldom needed, folded away. */
function rareFields(filters: readonly Filter[], values: FilterValues): Html | null {
  const rare = filters.filter((filter) => filter.rare);
  if (rare.length === 0) return null;
  const open = rare.some(({ name }) => values[name]);
  return html`<details${attributes({ class: 'more-filters', open })}><summary>More filters</summary><div class="more-fields">${rare.map((filter) => fieldOf(filter, values))}</div></details>`;
}

/**
 * A form that filters a list by its address, without a script.
 * @param values the current filters by name
 */
export function filterForm(path: string, filters: readonly Filter[], values: FilterValues): Html {
  const used = filters.some(({ name }) => values[name]);
  return html`<form class="filters" method="get" action="${path}" role="search">
    ${filters.filter(({ rare }) => !rare).map((filter) => fieldOf(filter, values))}
    <div class="filter-buttons">
      <button class="button" type="submit">${icon('search')}Search</button
      >${used ? html`<a class="button plain" href="${path}">Clear</a>` : null}
    </div>
    ${rareFields(filters, values)}
  </form>`;
}
