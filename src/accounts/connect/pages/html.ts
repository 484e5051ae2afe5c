/** A piece of HTML that is safe to be put into another. */
export class Html {
  constructor(readonly text: string) {}
}

/** What may stand between the pieces of a template: text is escaped; nothing becomes of null, undefined and booleans. */
export type HtmlValue = Html | string | number | boolean | null | undefined | readonly HtmlValue[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

const escape = (text: string): string =>
  text.toWellFormed().replace(/[&<>"'`]/g, (character) => ENTITIES[character] ?? '');

function render(value: HtmlValue): string {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return (value as readonly HtmlValue[]).map(render).join('');
  if (typeof value === 'string') return escape(value);
  return typeof value === 'number' ? String(value) : '';
}

/**
 * Tag of HTML templates: every value is escaped, also for attributes, which have to be in quotes. Addresses in `href` and
 * `src` are the caller's to check: escaping does not make `javascript:` harmless.
 */
export function html(pieces: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return new Html(
    pieces
      .map((piece, index) => piece + (index < values.length ? render(values[index]) : ''))
      .join(''),
  );
}

const NAME = /^[a-z][a-z-]*$/;

/**
 * Attributes of an element, each with a space before it. `true` gives the bare name; null, undefined and false leave it
 * out.
 */
export function attributes(
  values: Readonly<Record<string, string | number | boolean | null | undefined>>,
): Html {
  const parts = Object.entries(values).map(([name, value]) => {
    if (!NAME.test(name)) throw new Error(`"${name}" is no name of an attribute`);
    if (value === null || value === undefined || value === false) return '';
    return value === true ? ` ${name}` : ` ${name}="${escape(String(value))}"`;
  });
  return new Html(parts.join(''));
}
