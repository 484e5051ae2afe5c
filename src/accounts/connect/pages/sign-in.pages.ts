import type { Scope } from '../../../platform/auth/scopes.ts';
import type { PasswordForm } from '../../../providers/port/sign-in/sign-in-descriptor.ts';
import { choice, field, type FieldErrors } from '../../../platform/pages/fields.ts';
import { html, type Html } from '../../../platform/pages/html.ts';
import { form, type FormKey, stepPath, summary } from './form.ts';
import { type RequestingApplication, layout, mark, type Page } from './layout.ts';
import { inWords, TEXTS } from './texts.ts';

export interface OfferedProvider {
  /** Identifies the offer in URLs and forms. */
  id: string;
  /** Name of the connector. */
  provider: string;
  title: string;
  hint: string;
  /** Whether the user signs in at the provider instead of with a password on our page. */
  oauth: boolean;
}

const head = (asking: RequestingApplication, heading: string, lead: string): Html =>
  html`<header class="head">
    ${mark(asking)}
    <h1 id="heading">${heading}</h1>
    <p class="lead">${lead}</p>
  </header>`;

const cancelLink = (key: FormKey): Html =>
  html`<p class="aside"><a href="${stepPath('cancel', key.link)}">${TEXTS.cancel.link}</a></p>`;

const face = ({ provider, title, hint }: OfferedProvider): Html =>
  html`<span class="tile tile-${provider}" aria-hidden="true">${title.slice(0, 1)}</span
    ><span class="option-text"
      ><span class="option-title">${title}</span><span class="option-hint">${hint}</span></span
    ><span class="chevron" aria-hidden="true">›</span>`;

/** Page to choose a provider. */
export function choosePage(
  asking: RequestingApplication,
  key: FormKey,
  providers: readonly OfferedProvider[],
): Page {
  const option = (provider: OfferedProvider): Html =>
    provider.oauth
      ? form(
          'provider',
          key,
          html`<button class="option" type="submit">${face(provider)}</button>`,
          {
            provider: provider.id,
          },
        )
      : html`<a class="option" href="${stepPath('', key.link, { provider: provider.id })}"
          >${face(provider)}</a
        >`;
  const { title, heading, lead, none } = TEXTS.choose;
  return layout({
    title,
    asking,
    mayLeaveSite: true,
    body: html`${head(asking, heading(asking.name), lead)}
    ${
      providers.length === 0
        ? html`<p class="alert">${none}</p>`
        : html`<ul class="options">
            ${providers.map((provider) => html`<li>${option(provider)}</li>`)}
          </ul>`
    }
    ${cancelLink(key)}`,
  });
}

/** Page before the user goes to an OAuth provider. */
export function oauthPage(
  asking: RequestingApplication,
  key: FormKey,
  provider: OfferedProvider,
  errors: FieldErrors,
): Page {
  const { title, heading, lead, submit } = TEXTS.oauth;
  return layout({
    title,
    asking,
    mayLeaveSite: true,
    status: Object.keys(errors).length > 0 ? 422 : 200,
    body: html`${head(asking, heading(provider.title), lead(asking.name, provider.title))}
    ${summary(errors)}
    ${form(
      'provider',
      key,
      html`<button class="button" type="submit">${submit(provider.title)}</button>`,
      {
        provider: provider.id,
      },
    )}
    ${cancelLink(key)}`,
  });
}

/** Values and errors of the page for address and password. It never contains a password. */
export interface CredentialsForm {
  offer: string;
  texts: PasswordForm;
  /** Values by field name. */
  values: Readonly<Record<string, string>>;
  errors: FieldErrors;
  /** Whether an existing account signs in again; then the address cannot be another one. */
  again: boolean;
  /**
   * How the server fields are shown. Every value except `closed` opens them.
   *
   * - `missing`: the servers could not be found
   * - `check`: the user has to confirm them before a password is sent there
   * - `given`: the application has named them
   */
  servers: 'closed' | 'open' | 'missing' | 'check' | 'given';
}

/** The field that gets the focus: the first one with an error. */
const firstWrong = (errors: FieldErrors): string | undefined => Object.keys(errors).find(Boolean);

/** Fields of the IMAP and SMTP servers. Their names are those of the settings. */
function serverFields({ values, errors, servers }: CredentialsForm): Html {
  const texts = TEXTS.credentials;
  const wrong = firstWrong(errors);
  const server = (prefix: 'imap_' | 'smtp_', legend: string, ports: string, more: Html): Html =>
    html`<fieldset>
      <legend>${legend}</legend>
      <div class="row">
        ${field(errors, {
          name: `${prefix}host`,
          label: texts.host,
          value: values[`${prefix}host`],
          autocomplete: 'off',
          autofocus: wrong === `${prefix}host`,
        })}
        ${field(errors, {
          name: `${prefix}port`,
          label: texts.port,
          value: values[`${prefix}port`],
          inputmode: 'numeric',
          autocomplete: 'off',
          autofocus: wrong === `${prefix}port`,
          hint: ports,
        })}
      </div>
      ${choice(
        errors,
        { name: `${prefix}security`, label: texts.security, value: values[`${prefix}security`] },
        texts.securities,
      )}
      ${more}
    </fieldset>`;
  const login = (name: string, label: string, hint: string): Html =>
    field(errors, {
      name,
      label,
      hint,
      value: values[name],
      autocomplete: 'off',
      autofocus: wrong === name,
    });
  // Shown only if the application has named a URL: the password is sent there too.
  const address = (name: string, label: string) =>
    Boolean(values[name] ?? errors[name]) &&
    field(errors, { name, label, value: values[name], autocomplete: 'off' });
  const open = servers !== 'closed';
  return html`<details class="servers" ${open && html` open`}>
    <summary>${texts.servers}</summary>
    <p class="hint">${texts.serversWords[servers]}</p>
    ${server('imap_', texts.imap, texts.imapPorts, login('imap_username', texts.username, texts.usernameHint))}
    ${server(
      'smtp_',
      texts.smtp,
      texts.smtpPorts,
      html`${login('smtp_username', texts.smtpUsername, texts.smtpHint)}
      ${field(errors, {
        name: 'smtp_password',
        label: texts.smtpPassword,
        type: 'password',
        autocomplete: 'off',
        autofocus: wrong === 'smtp_password',
      })}`,
    )}
    ${address('caldav_url', texts.calendars)} ${address('carddav_url', texts.contacts)}
  </details>`;
}

/** Page for address and password. */
export function credentialsPage(
  asking: RequestingApplication,
  key: FormKey,
  entry: CredentialsForm,
  status?: number,
): Page {
  const texts = TEXTS.credentials;
  const { values, errors } = entry;
  const own = entry.texts;
  const wrong = firstWrong(errors);
  const focus = (name: string, otherwise: boolean) => (wrong ? wrong === name : otherwise);
  const email = values['email'];
  return layout({
    status: status ?? (Object.keys(errors).length > 0 ? 422 : 200),
    title: entry.again ? texts.again : texts.title,
    asking,
    body: html`${head(asking, entry.again ? texts.again : own.heading, texts.lead(asking.name))}
      ${summary(errors)}
      ${form(
        'credentials',
        key,
        html`${field(errors, {
            name: 'email',
            label: texts.email,
            type: 'email',
            value: email,
            autocomplete: 'username',
            required: true,
            autofocus: focus('email', !email),
          })}
          ${field(errors, {
            name: 'password',
            label: texts.password,
            type: 'password',
            autocomplete: 'current-password',
            required: own.passwordRequired,
            hint: own.passwordHint,
            autofocus: focus('password', Boolean(email)),
          })}
          ${own.servers && serverFields(entry)}
          <button class="button" type="submit">${texts.submit}</button>
          ${own.servers && html`<p class="hint centered">${texts.checking}</p>`}`,
        { provider: entry.offer },
      )}
      ${cancelLink(key)}
      <p class="fine">${TEXTS.secured}</p>`,
  });
}

/** Value of the consent form for all scopes. */
export const ALL_SCOPES = '*';

/**
 * Consent page: the scopes, the application that gets them, and the account.
 * @param missing the scopes that the application asks for and the user has not allowed at the
 *   provider
 */
export function consentPage(
  asking: RequestingApplication,
  key: FormKey,
  account: { email: string },
  scopes: readonly Scope[] | null,
  missing: { at: string; scopes: readonly Scope[] },
): Page {
  const { title, heading, lead, will, revoke, allow, deny, other, missed } = TEXTS.consent;
  return layout({
    title,
    asking,
    mayLeaveSite: true,
    body: html`${head(asking, heading(asking.name), lead)}
      <p class="account">
        <span class="account-mark" aria-hidden="true">@</span><strong>${account.email}</strong>
        <a href="${stepPath('', key.link, { again: 'true' })}">${other}</a>
      </p>
      <h2 class="small">${will(asking.name)}</h2>
      <ul class="scopes">
        ${inWords(scopes).map((words) => html`<li>${words}</li>`)}
      </ul>
      ${
        missing.scopes.length > 0 &&
        html`<div class="alert">
          <p>${missed(asking.name, missing.at)}</p>
          <ul>
            ${inWords(missing.scopes).map((words) => html`<li>${words}</li>`)}
          </ul>
        </div>`
      }
      ${form('consent', key, html`<button class="button" type="submit">${allow}</button>`, {
        account: account.email,
        scopes: scopes === null ? ALL_SCOPES : scopes.join(','),
      })}
      ${form('deny', key, html`<button class="button quiet" type="submit">${deny}</button>`)}
      <p class="fine">${revoke}</p>`,
  });
}

/** Page that asks for confirmation before leaving. */
export function cancelPage(asking: RequestingApplication, key: FormKey): Page {
  const { title, heading, lead, confirm, back } = TEXTS.cancel;
  return layout({
    title,
    asking,
    mayLeaveSite: true,
    body: html`${head(asking, heading, lead(asking.name))}
      ${form('cancel', key, html`<button class="button" type="submit">${confirm(asking.name)}</button>`)}
      <p class="aside"><a href="${stepPath('', key.link)}">${back}</a></p>`,
  });
}

/** Page at the end of a sign-in that leads to no application. */
export function donePage(connected: boolean): Page {
  const { title, text } = connected ? TEXTS.done.connected : TEXTS.done.stopped;
  return layout({
    title,
    body: html`<header class="head">
      <h1 id="heading">${title}</h1>
      <p class="lead">${text}</p>
    </header>`,
  });
}

/** Page with a message only, for problems that the user cannot solve on the page. */
export function problemPage(
  status: number,
  problem: { title: string; text: string },
  wayBack?: { name: string; url: string },
): Page {
  return layout({
    status,
    title: problem.title,
    body: html`<header class="head">
        <span class="mark mark-problem" aria-hidden="true">!</span>
        <h1 id="heading">${problem.title}</h1>
        <p class="lead">${problem.text}</p>
      </header>
      ${wayBack && html`<p><a class="button" href="${wayBack.url}">${TEXTS.cancel.confirm(wayBack.name)}</a></p>`}`,
  });
}
