import { type FieldErrors, fieldId } from '../../../platform/pages/fields.ts';
import { html, type Html } from '../../../platform/pages/html.ts';
import { TEXTS } from './texts.ts';

/** The link and the token that prove where a form comes from (browser-secret.ts). */
export interface FormKey {
  link: string;
  token: string;
}

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
        name ? html`<li><a href="#${fieldId(name)}">${text}</a></li>` : html`<li>${text}</li>`,
      )}
    </ul>
  </div>`;
}
