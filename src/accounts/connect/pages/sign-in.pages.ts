import type { Scope } from '../../../platform/auth/scopes.ts';
import { choice, field, type FieldErrors, form, type FormKey, stepPath, summary } from './form.ts';
import { html, type Html } from './html.ts';
import { type Asking, layout, mark, type Page } from './layout.ts';
import { inWords, TEXTS } from './texts.ts';

export interface OfferedProvider {
  /** Names it in addresses and forms. */
  id: string;
  /** Name of the connector. */
  provider: string;
  title: string;
  hint: string;
  /** Whether one signs in there, instead of with a password here. */
  oauth: boolean;
}

const head = (asking: Asking, heading: string, lead: string): Html =>
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

/** Where is your mailbox? */
export function choosePage(
  asking: Asking,
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
    leaves: true,
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

/** Before one goes to the provider to sign in there. */
export function oauthPage(
  asking: Asking,
  key: FormKey,
  provider: OfferedProvider,
  errors: FieldErrors,
): Page {
  const { title, heading, lead, submit } = TEXTS.oauth;
  return layout({
    title,
    asking,
    leaves: true,
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

/** What the page of credentials shows again: never a password. */
export interface CredentialsForm {
  offer: string;
  provider: 'sandbox' | 'imap';
  /** Values by name of the field. */
  values: Readonly<Record<string, string>>;
  errors: FieldErrors;
  /** The address is given: it has to be this account. */
  again: boolean;
  /**
   * Whether the fields of the servers are open; `missing`: because they could not be found; `check`: because somebody has to
   * agree before a password is sent there; `given`: because the application has named them.
   */
  servers: 'closed' | 'open' | 'missing' | 'check' | 'given';
}

/** The field that gets the focus: the first one that is wrong. */
const firstWrong = (errors: FieldErrors): string | undefined => Object.keys(errors).find(Boolean);

/** Fields of the two servers, as they are named on the wire. */
function serverFields({ values, errors, servers }: CredentialsForm): Html {
  const texts = TEXTS.credentials;
  const wrong = firstWrong(errors);
  const server = (prefix: 'imap' | 'smtp', legend: string, ports: string, more: Html): Html =>
    html`<fieldset>
      <legend>${legend}</legend>
      <div class="row">
        ${field(errors, {
          name: `${prefix}_host`,
          label: texts.host,
          value: values[`${prefix}_host`],
          autocomplete: 'off',
          autofocus: wrong === `${prefix}_host`,
        })}
        ${field(errors, {
          name: `${prefix}_port`,
          label: texts.port,
          value: values[`${prefix}_port`],
          inputmode: 'numeric',
          autocomplete: 'off',
          autofocus: wrong === `${prefix}_port`,
          hint: ports,
        })}
      </div>
      ${choice(
        errors,
        { name: `${prefix}_security`, label: texts.security, value: values[`${prefix}_security`] },
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
  // Only where the application has named one: the password is sent there, too.
  const address = (name: string, label: string) =>
    Boolean(values[name] ?? errors[name]) &&
    field(errors, { name, label, value: values[name], autocomplete: 'off' });
  const open = servers !== 'closed';
  return html`<details class="servers" ${open && html` open`}>
    <summary>${texts.servers}</summary>
    <p class="hint">${texts.serversWords[servers]}</p>
    ${server('imap', texts.imap, texts.imapPorts, login('imap_username', texts.username, texts.usernameHint))}
    ${server(
      'smtp',
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

/** Address and password. */
export function credentialsPage(
  asking: Asking,
  key: FormKey,
  entry: CredentialsForm,
  status?: number,
): Page {
  const texts = TEXTS.credentials;
  const { provider, values, errors } = entry;
  const wrong = firstWrong(errors);
  const focus = (name: string, otherwise: boolean) => (wrong ? wrong === name : otherwise);
  const email = values['email'];
  return layout({
    status: status ?? (Object.keys(errors).length > 0 ? 422 : 200),
    title: entry.again ? texts.again : texts.title,
    asking,
    body: html`${head(asking, entry.again ? texts.again : texts.heading[provider], texts.lead(asking.name))}
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
            required: provider === 'imap',
            hint: texts.passwordHint[provider],
            autofocus: focus('password', Boolean(email)),
          })}
          ${provider === 'imap' && serverFields(entry)}
          <button class="button" type="submit">${texts.submit}</button>
          ${provider === 'imap' && html`<p class="hint centered">${texts.checking}</p>`}`,
        { provider: entry.offer },
      )}
      ${cancelLink(key)}
      <p class="fine">${TEXTS.secured}</p>`,
  });
}

/** What the consent form says of scopes where everything is meant. */
export const ALL_SCOPES = '*';

/** What will be allowed, to whom, and for which account. */
export function consentPage(
  asking: Asking,
  key: FormKey,
  account: { email: string },
  scopes: readonly Scope[] | null,
): Page {
  const { title, heading, lead, will, revoke, allow, deny, other } = TEXTS.consent;
  return layout({
    title,
    asking,
    leaves: true,
    body: html`${head(asking, heading(asking.name), lead)}
      <p class="account">
        <span class="account-mark" aria-hidden="true">@</span><strong>${account.email}</strong>
        <a href="${stepPath('', key.link, { again: 'true' })}">${other}</a>
      </p>
      <h2 class="small">${will(asking.name)}</h2>
      <ul class="scopes">
        ${inWords(scopes).map((words) => html`<li>${words}</li>`)}
      </ul>
      ${form('consent', key, html`<button class="button" type="submit">${allow}</button>`, {
        account: account.email,
        scopes: scopes === null ? ALL_SCOPES : scopes.join(','),
      })}
      ${form('deny', key, html`<button class="button quiet" type="submit">${deny}</button>`)}
      <p class="fine">${revoke}</p>`,
  });
}

/** Asked before one leaves. */
export function cancelPage(asking: Asking, key: FormKey): Page {
  const { title, heading, lead, confirm, back } = TEXTS.cancel;
  return layout({
    title,
    asking,
    leaves: true,
    body: html`${head(asking, heading, lead(asking.name))}
      ${form('cancel', key, html`<button class="button" type="submit">${confirm(asking.name)}</button>`)}
      <p class="aside"><a href="${stepPath('', key.link)}">${back}</a></p>`,
  });
}

/** Something to be told, and nothing to be done about it here. */
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
