import { attributes, html, type Html } from './html.ts';
import { TEXTS } from './texts.ts';

/** Error texts by field name. The empty name is for the whole form. */
export type FieldErrors = Readonly<Record<string, string>>;

/** The link and the token that prove where a form comes from (browser-secret.ts). */
export interface FormKey {
  link: string;
  token: string;
}

export interface Field {
  name: string;
  label: string;
  type?: 'text' | 'email' | 'password' | 'number';
  value?: string;
  hint?: string;
  autocomplete?: string;
  required?: boolean;
  /** Whether the field has the focus when the page opens. */
  autofocus?: boolean;
  /** `numeric` shows a number keyboard on phones. */
  inputmode?: 'numeric';
}

const idOf = (name: string): string => `field-${name.replaceAll('_', '-')}`;

/** Path of a step of the sign-in, with its link. */
export function stepPath(
  step: string,
  link: string,
  query: Readonly<Record<string, string>> = {},
): string {
  return `/connect/login${step && `/${step}`}?${new URLSearchParams({ id: link, ...query }).toString()}`;
}

/** A form that is sent to a step. */
export function form(
  step: string,
  key: FormKey,
  content: Html,
  hidden: Readonly<Record<string, string>> = {},
): Html {
  const fields = Object.entries({ csrf: key.token, ...hidden });
  return html`<form method="post" action="${stepPath(step, key.link)}" novalidate>
    ${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}${content}
  </form>`;
}

/** A field. Its error is shown next to it, and screen readers read both together. */
export function field(
  errors: FieldErrors,
  { name, label, type = 'text', value, hint, ...rest }: Field,
): Html {
  const id = idOf(name);
  const error = errors[name];
  const described = [...(hint ? [`${id}-hint`] : []), ...(error ? [`${id}-error`] : [])].join(' ');
  const verbatim =
    type === 'password' ||
    name.endsWith('host') ||
    name.endsWith('username') ||
    name.endsWith('url') ||
    type === 'email';
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <input${attributes({
      id,
      name,
      type,
      value,
      ...rest,
      ...(verbatim ? { autocapitalize: 'none', spellcheck: 'false' } : {}),
      'aria-invalid': error ? 'true' : undefined,
      'aria-describedby': described || undefined,
    })} />
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
    ${error && html`<p class="error" role="alert" id="${id}-error">${error}</p>`}
  </div>`;
}

/** A list to choose one value from. */
export function choice(
  errors: FieldErrors,
  { name, label, value = '' }: Pick<Field, 'name' | 'label' | 'value'>,
  options: Readonly<Record<string, string>>,
): Html {
  const id = idOf(name);
  const error = errors[name];
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <select${attributes({
      id,
      name,
      'aria-invalid': error ? 'true' : undefined,
      'aria-describedby': error ? `${id}-error` : undefined,
    })}>
      ${Object.entries(options).map(
        ([key, text]) =>
          html`<option${attributes({ value: key, selected: key === value })}>${text}</option>`,
      )}
    </select>
    ${error && html`<p class="error" id="${id}-error">${error}</p>`}
  </div>`;
}

/**
 * Summary of the errors at the top of a form, with links to the fields. There is no summary if only
 * one field is wrong: that field shows its error, is read out at once and has the focus.
 */
export function summary(errors: FieldErrors): Html | null {
  const entries = Object.entries(errors);
  if (entries.length === 0 || (entries.length === 1 && !('' in errors))) return null;
  return html`<div class="alert" role="alert">
    <p class="alert-title">${TEXTS.errorSummary}</p>
    <ul>
      ${entries.map(([name, text]) =>
        name ? html`<li><a href="#${idOf(name)}">${text}</a></li>` : html`<li>${text}</li>`,
      )}
    </ul>
  </div>`;
}
