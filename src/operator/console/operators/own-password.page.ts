import { html } from '../../../platform/pages/html.ts';
import { field, type FieldErrors } from '../../../platform/pages/fields.ts';
import type { Viewer } from '../kit/actions.ts';
import type { ConsolePage, Notice } from '../kit/layout.ts';
import { SHORTEST_PASSWORD } from '../../access/operators.service.ts';

export const OWN_PASSWORD_PATH = '/console/password';

/** What the page of the own password shows. */
export interface OwnPasswordForm {
  hasPassword: boolean;
  /** Issuer of an operator who signs in by OpenID Connect. */
  issuer: string | null;
  errors: FieldErrors;
  notice: Notice | null;
}

/** The form in which operators choose their own password, whatever their role. */
export function ownPasswordPage(
  viewer: Viewer,
  { hasPassword, issuer, errors, notice }: OwnPasswordForm,
): ConsolePage {
  const form = html`<form class="action" method="post" action="${OWN_PASSWORD_PATH}">
    <input type="hidden" name="csrf_token" value="${viewer.csrfToken}" />
    ${hasPassword ? field(errors, { name: 'current', label: 'Current password', type: 'password', autocomplete: 'current-password', required: true }) : null}
    ${field(errors, { name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password', required: true, hint: `At least ${SHORTEST_PASSWORD} characters` })}
    <div class="actions">
      <button class="button primary" type="submit">
        ${hasPassword ? 'Change the password' : 'Set the password'}
      </button>
    </div>
  </form>`;
  return {
    section: 'operators',
    title: 'Your password',
    lead:
      issuer === null
        ? 'Your sessions in other browsers end when you change it.'
        : `You sign in at ${issuer} and have no password here.`,
    notice,
    body: issuer === null ? form : html``,
  };
}
