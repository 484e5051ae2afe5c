import { Html, html } from '../../../platform/pages/html.ts';

/** Strokes of the icons, in a viewbox of 20 by 20. */
const STROKES = {
  overview: 'M3 10.5 10 4l7 6.5M5 9v7h10V9',
  jobs: 'M17 3 9 11M17 3l-5 14-3-6-6-3z',
  accounts: 'M10 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM4 17c.6-3.2 3-5 6-5s5.4 1.8 6 5',
  webhooks: 'M7 4v5a3 3 0 0 0 6 0V4M10 12v5M5 4h4M11 4h4',
  applications: 'M3 7l7-4 7 4v7l-7 4-7-4zM3 7l7 4 7-4M10 11v7',
  capacity:
    'M4 5c0-1.1 2.7-2 6-2s6 .9 6 2-2.7 2-6 2-6-.9-6-2ZM4 5v10c0 1.1 2.7 2 6 2s6-.9 6-2V5M4 10c0 1.1 2.7 2 6 2s6-.9 6-2',
  operators:
    'M7.5 10a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM2.5 16c.4-2.8 2.4-4.2 5-4.2s4.6 1.4 5 4.2M13 5.3a2.5 2.5 0 0 1 0 4.5M14.5 12c1.8.5 2.7 1.9 3 4',
  instance: 'M4 4h12v5H4zM4 11h12v5H4zM7 6.5v.1M7 13.5v.1',
  audit: 'M5 3h7l3 3v11H5zM8 9h4M8 12h4',
  logs: 'M3 6h7M14 6h3M3 14h3M10 14h7M12 4v4M8 12v4',
  check: 'm4.5 10.5 3.5 3.5 7.5-8',
  cross: 'm5.5 5.5 9 9m0-9-9 9',
  warning: 'M10 3.5 17.5 16h-15zM10 8.5v3.5M10 14v.1',
  clock: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM10 6v4l2.5 2',
  pause: 'M7.5 5v10M12.5 5v10',
  minus: 'M5 10h10',
  question: 'M7.5 7.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M10 14.5v.1',
  key: 'M12.5 10.5a3.5 3.5 0 1 0-3-3L3 14v3h3l.5-2h2l.5-2z',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  search: 'M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM13 13l4 4',
  right: 'm8 5 5 5-5 5',
  menu: 'M3 6h14M3 10h14M3 14h14',
  leave: 'M12 4H5v12h7M9 10h8m-3-3 3 3-3 3',
} as const;

export type IconName = keyof typeof STROKES;

/** An icon, 16 pixels wide, in the colour of the text. Screen readers skip it. */
export function icon(name: IconName): Html {
  return html`<svg
    class="icon"
    viewBox="0 0 20 20"
    width="16"
    height="16"
    aria-hidden="true"
    focusable="false"
  >
    <path d="${STROKES[name]}" />
  </svg>`;
}
