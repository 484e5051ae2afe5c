import { html, type Html } from '../../../platform/pages/html.ts';
import { type Confirmation, confirmBody, type Viewer } from '../kit/actions.ts';
import { copyButton } from '../kit/id.ts';
import { lifetimeOptions } from '../kit/lifetimes.ts';
import type { ConsolePage, Crumb, Section } from '../kit/layout.ts';
import { facts } from '../kit/table.ts';

/** An action on one object, as its page asks for it. */
export interface AskedAction extends Omit<Confirmation, 'consequences'> {
  section: Section;
  title: string;
  /** What happens, and what cannot be undone. */
  consequences: string;
  crumbs: readonly Crumb[];
}

/** Asks before an action on one object is done. */
export function actionPage(viewer: Viewer, asked: AskedAction): ConsolePage {
  const { section, title, crumbs, consequences, ...rest } = asked;
  const body = confirmBody(viewer, { ...rest, consequences: html`<p>${consequences}</p>` });
  return { section, title, crumbs, body };
}

/** A field for the operator's reason. @param hint who sees it */
export const reasonField = (hint: string): Html =>
  html`<div>
    <label for="reason">Reason (optional)</label
    ><input id="reason" name="reason" type="text" maxlength="300" autocomplete="off" />
    <p class="hint">${hint}</p>
  </div>`;

/** A field in which the operator types a text, to show that this is meant. */
export const typedField = (text: string): Html =>
  html`<div>
    <label for="confirm">To confirm, type ${text}</label
    ><input
      id="confirm"
      name="confirm"
      type="text"
      required
      autocomplete="off"
      autocapitalize="none"
      spellcheck="false"
    />
  </div>`;

/** A secret that is shown once, such as an access token. */
export interface ShownSecret {
  section: Section;
  title: string;
  /** What it is for, and who may have it. */
  text: string;
  what: string;
  value: string;
  crumbs: readonly Crumb[];
  /** Further lines. */
  more: readonly (readonly [name: string, value: string | Html])[];
}

/** Shows a secret once: it is not stored in a form that could be shown again. */
export function secretPage(shown: ShownSecret): ConsolePage {
  const { section, title, text, what, value, crumbs, more } = shown;
  return {
    section,
    title,
    crumbs,
    body: html`<section class="panel">
      <p>${text}</p>
      <p class="secret">
        <span class="id"><code>${value}</code>${copyButton(value, what)}</span>
      </p>
      ${facts(more)}
      <p class="aside">Copy it now. It is not shown again.</p>
    </section>`,
  };
}

/** How long a client secret is accepted after it was replaced, in seconds. Empty: not at all. */
export const SECRET_OVERLAPS = {
  '': 'Refuse it at once, for example if it was lost',
  '3600': 'An hour',
  '86400': 'A day',
  '604800': '7 days',
} as const;

/** The field of a new client secret. */
export const rotationFields = (): Html =>
  html`<div>
    <label for="keep_old">Accept the present secret for</label
    ><select id="keep_old" name="keep_old">
      ${lifetimeOptions(SECRET_OVERLAPS)}
    </select>
  </div>`;

/** How long a new access token works, in seconds. Empty: as the application has set. */
export const TOKEN_LIFETIMES = {
  '': 'As the application has set',
  '3600': 'An hour',
  '86400': 'A day',
  '2592000': '30 days',
} as const;

/** The fields of a new access token. */
export const tokenFields = (): Html =>
  html`<div>
      <label for="lifetime">It works for</label
      ><select id="lifetime" name="lifetime">
        ${lifetimeOptions(TOKEN_LIFETIMES)}
      </select>
    </div>
    <label class="check"
      ><input type="checkbox" name="revoke_others" value="true" /> Revoke all other tokens of the
      account, for example if one was lost</label
    >`;
