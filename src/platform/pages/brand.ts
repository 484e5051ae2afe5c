import { html } from './html.ts';

/** The product's name, as pages show it. */
export const PRODUCT = 'Carillon';

const BELL_PATH =
  'M12 2.6a1.4 1.4 0 0 1 1.4 1.4v.6a6 6 0 0 1 4.6 5.9c0 4.6 1.9 6 1.9 6.9 0 .6-.4.9-1 .9H5.1c-.6 0-1-.3-1-.9 0-.9 1.9-2.3 1.9-6.9a6 6 0 0 1 4.6-5.9V4A1.4 1.4 0 0 1 12 2.6Zm-2.3 17h4.6a2.3 2.3 0 0 1-4.6 0Z';

/** The bell, 20 pixels wide, in the colour of the text if the stylesheet says so. */
export const BELL = html`<svg
  viewBox="0 0 24 24"
  width="20"
  height="20"
  aria-hidden="true"
  focusable="false"
>
  <path d="${BELL_PATH}" />
</svg>`;

/** The icon of the pages, as an SVG file. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="#3d3fc4"/><path fill="#fff" transform="translate(3 3) scale(.75)" d="${BELL_PATH}"/></svg>`;
