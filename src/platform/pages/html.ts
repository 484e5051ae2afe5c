/** A piece of HTML that can safely be inserted into other HTML. */
export class Html {
  constructor(readonly text: string) {}
}

/** Values for a template. Texts are escaped. `null`, `undefined` and booleans render as nothing. */
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
 * Tag for HTML templates. Every value is escaped, also for attributes, whose values must be in
 * quotes. The caller must check URLs in `href` and `src`, because escaping does not make
 * `javascript:` harmless.
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
 * Attributes of an element, each after a space. `true` renders the bare name. `null`, `undefined`
 * and `false` leave the attribute out.
 */
export function attributes(
  values: Readonly<Record<string, string | number | boolean | null | undefined>>,
): Html {
  const parts = Object.entries(values).map(([name, value]) => {
    if (!NAME.test(name)) throw new Error(`"${name}" is not an attribute name`);
    if (value === null || value === undefined || value === false) return '';
    return value === true ? ` ${name}` : ` ${name}="${escape(String(value))}"`;
  });
  return new Html(parts.join(''));
}
