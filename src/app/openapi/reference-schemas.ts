import { html, type Html, type HtmlValue } from '../../platform/pages/html.ts';
import type { Schema } from './schemas.ts';

/** Identifier of the part of the page that describes a schema. */
export const schemaAnchor = (name: string): string => `schema-${name}`;

/** Markdown as the document uses it: paragraphs, and code between backticks. */
export function prose(text: string | undefined): HtmlValue {
  return (text ?? '')
    .split(/\n{2,}/)
    .filter(Boolean)
    .map((paragraph) => html`<p>${inline(paragraph)}</p>`);
}

/** One line of the same. */
export function inline(text: string): HtmlValue {
  return text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** What a value of a schema is, such as "array of Message or null". */
export function typeOf(schema: Schema): Html {
  const { $ref, items, enum: values, anyOf, oneOf, allOf, nullable, type, format } = schema;
  const choices = anyOf ?? oneOf ?? allOf;
  const orNull = nullable && !values?.includes(null) ? ' or null' : '';
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1) ?? '';
    return html`<a href="#${schemaAnchor(name)}">${name}</a>`;
  }
  if (values)
    return html`${values.map((value, at) => [at > 0 ? ' or ' : '', html`<code>${JSON.stringify(value)}</code>`])}`;
  if (choices)
    return html`${choices.map((one, at) => [at > 0 ? ' or ' : '', typeOf(one)])}${orNull}`;
  if (items) return html`array of ${typeOf(items)}${orNull}`;
  return html`${type ?? 'any value'}${format ? ` (${format})` : ''}${orNull}`;
}

/** The fields of a schema and of the objects that stand in it, by their path. */
export function fieldsOf(schema: Schema, path = ''): Html {
  const rows = rowsOf(schema, path);
  return rows.length === 0 ? html`<p>${typeOf(schema)}</p>` : html`<dl>${rows}</dl>`;
}

function rowsOf(schema: Schema, path: string): Html[] {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, field]) => {
    const here = `${path}${name}`;
    return [
      row(here, typeOf(field), required.includes(name), field.description),
      ...partsOf(field).flatMap(([suffix, part]) => rowsOf(part, `${here}${suffix}.`)),
    ];
  });
}

/** A name with its type and text, for a `<dl>`. */
export function row(name: string, type: HtmlValue, required: boolean, text?: string): Html {
  return html`<dt><code>${name}</code> <span>${type}${required ? ', required' : ''}</span></dt>
    <dd>${inline(text ?? '')}</dd>`;
}

/** Objects without a name of their own in a field: the field itself, its items, or its choices. */
function partsOf(field: Schema): [suffix: string, part: Schema][] {
  const { items, anyOf = [], oneOf = [], allOf = [] } = field;
  const choices = [...anyOf, ...oneOf, ...allOf].flatMap(partsOf);
  if (items) return partsOf(items).map(([suffix, part]) => [`[]${suffix}`, part]);
  return field.properties ? [['', field], ...choices] : choices;
}

/** An example as text: JSON, unless it is a text itself. Nothing if there is none. */
export function example(value: unknown): HtmlValue {
  if (value === undefined) return null;
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  // Keeps the line breaks of the text, which formatting of this template would not.
  return html`<pre>${text}</pre>`;
}
