import { attributes, html, type Html } from './html.ts';

/** Error texts by field name. The empty name is for the whole form. */
export type FieldErrors = Readonly<Record<string, string>>;

/** An input with its label. */
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

/** The `id` of the input of a field. */
export const fieldId = (name: string): string => `field-${name.replaceAll('_', '-')}`;

/** A field. Its error is shown next to it, and screen readers read both together. */
export function field(
  errors: FieldErrors,
  { name, label, type = 'text', value, hint, ...rest }: Field,
): Html {
  const id = fieldId(name);
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
  const id = fieldId(name);
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
