import { html, type Html } from '../../../platform/pages/html.ts';

/**
 * Options of a choice by seconds. The empty one is first, and so the default: the keys of an object
 * that are numbers come before all others.
 * @param choices seconds → text; the empty string → what no choice means
 */
export const lifetimeOptions = (choices: Readonly<Record<string, string>>): Html[] =>
  Object.entries(choices)
    .toSorted(([one], [other]) => Number(one) - Number(other))
    .map(([value, text]) => html`<option value="${value}">${text}</option>`);
