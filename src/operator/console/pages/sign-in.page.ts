import { html } from '../../../platform/pages/html.ts';
import { field } from '../../../platform/pages/fields.ts';
import { CSRF_FIELD } from '../../access/sessions/csrf.ts';
import { icon } from '../kit/icons.ts';
import { plainPage } from '../kit/layout.ts';
import { address } from '../kit/table.ts';

/** What the sign-in page shows. */
export interface SignInForm {
  /** The name that was entered. */
  name: string;
  /** The page to open afterwards: a path of the console. */
  to: string;
  /** Why the last attempt was refused. */
  error: string | null;
  /** Whether operators sign in at an identity provider as well. */
  oidc: boolean;
}

export const SIGN_IN_PATH = '/console/sign-in';

/** The address of the sign-in. @param to the page to open afterwards */
export const signInPath = (to: string): string =>
  address(SIGN_IN_PATH, { to: to === '/console' ? null : to });

const hidden = (to: string) => html`<input type="hidden" name="to" value="${to}" />`;

/** The operators' sign-in. */
export function signInPage({ name, to, error, oidc }: SignInForm): string {
  const refused =
    error &&
    html`<div class="notice notice-bad" role="alert">
      ${icon('warning')}
      <p>${error}</p>
    </div>`;
  return plainPage(
    'Sign in',
    html`<p class="aside">For operators of this server.</p>
      ${refused}
      <form method="post" action="${SIGN_IN_PATH}">
        ${hidden(to)}
        ${field({}, { name: 'name', label: 'Name', value: name, autocomplete: 'username', required: true, autofocus: !name })}
        ${field({}, { name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', required: true, autofocus: Boolean(name) })}
        <button class="button primary" type="submit">Sign in</button>
      </form>
      ${
        oidc
          ? html`<p class="or">or</p>
              <a class="button" href="${address(`${SIGN_IN_PATH}/oidc`, { to })}"
                >Sign in with your organization</a
              >`
          : null
      }
      <p class="hint">
        No operator yet? On the server, run <code>carillon operator create --password</code>.
      </p>`,
  );
}

/** What the button of a sign-in link sends. */
export interface SignInLinkForm {
  /** The secret of the link. */
  secret: string;
  /** The page to open afterwards: a path of the console. */
  to: string;
  /** Token of `csrfToken` for this browser. */
  csrf: string;
}

/** The page of a sign-in link. Only its button uses the link up. */
export function signInLinkPage({ secret, to, csrf }: SignInLinkForm): string {
  const fields = { [CSRF_FIELD]: csrf, secret, to };
  return plainPage(
    'Sign in',
    html`<p class="aside">This link signs an operator in, once.</p>
      <form method="post" action="${SIGN_IN_PATH}/link">
        ${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
        <button class="button primary" type="submit">Sign in</button>
      </form>`,
  );
}
