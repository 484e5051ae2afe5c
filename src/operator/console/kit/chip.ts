import { html, type Html } from '../../../platform/pages/html.ts';
import { icon, type IconName } from './icons.ts';

/** What a state means to an operator. */
export type Tone = 'good' | 'busy' | 'idle' | 'warning' | 'bad';

/** The sign of each tone, for readers who see no colours. */
export const SIGNS: Readonly<Record<Tone, IconName>> = {
  good: 'check',
  busy: 'clock',
  idle: 'minus',
  warning: 'warning',
  bad: 'cross',
};

/** A state as text with a sign and a colour. @param sign default: the sign of the tone */
export function chip(tone: Tone, text: string, sign: IconName = SIGNS[tone]): Html {
  return html`<span class="chip chip-${tone}">${icon(sign)}${text}</span>`;
}
