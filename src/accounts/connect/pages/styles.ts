import { createHash } from 'node:crypto';

/** The only stylesheet of the sign-in pages. */
export const STYLES = `:root {
  color-scheme: light dark;
  --page: #f3f4f8; --card: #ffffff; --text: #171a26; --muted: #565d73; --line: #d4d8e3; --field-line: #868da3;
  --accent: #3d3fc4; --accent-strong: #2e309e; --on-accent: #ffffff; --tint: #ededfc; --hover: #f6f6fd;
  --error: #b3151f; --error-tint: #fdf0f0; --error-line: #eeb9bc; --shadow: 0 1px 2px rgb(23 26 38 / 6%), 0 12px 32px rgb(23 26 38 / 8%);
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #10121a; --card: #191c27; --text: #eceef6; --muted: #a9b0c5; --line: #323748; --field-line: #757d96;
    --accent: #a5a8ff; --accent-strong: #c0c2ff; --on-accent: #14152e; --tint: #262a49; --hover: #212533;
    --error: #ff9da2; --error-tint: #331c22; --error-line: #6b323a; --shadow: 0 1px 2px rgb(0 0 0 / 40%);
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; min-height: 100vh; min-height: 100dvh; padding: 40px 16px 24px; display: flex; flex-direction: column;
  align-items: center; background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif;
}
.card {
  width: 100%; max-width: 440px; padding: 36px; background: var(--card); border: 1px solid var(--line);
  border-radius: 16px; box-shadow: var(--shadow); overflow-wrap: anywhere;
}
.head { text-align: center; margin-bottom: 24px; }
.mark {
  display: inline-grid; place-items: center; width: 48px; height: 48px; border-radius: 12px; margin-bottom: 16px;
  background: var(--tint); color: var(--accent); font-size: 22px; font-weight: 700; object-fit: cover;
}
.mark-problem { background: var(--error-tint); color: var(--error); }
h1 { margin: 0; font-size: 24px; line-height: 1.25; font-weight: 650; letter-spacing: -0.01em; text-wrap: balance; }
h2.small { margin: 24px 0 8px; font-size: 16px; font-weight: 600; }
.lead { margin: 8px 0 0; color: var(--muted); text-wrap: pretty; }
a { color: var(--accent); text-underline-offset: 3px; }
a:hover { color: var(--accent-strong); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 6px; }
.options { list-style: none; margin: 0; padding: 0; display: grid; gap: 12px; }
.option {
  display: flex; width: 100%; align-items: center; gap: 14px; padding: 14px 16px; border: 1px solid var(--field-line);
  border-radius: 12px; background: var(--card); color: var(--text); font: inherit; text-align: left;
  text-decoration: none; cursor: pointer;
}
.option:hover { background: var(--hover); border-color: var(--accent); color: var(--text); }
.option:focus-visible { border-radius: 12px; }
.option-text { flex: 1; min-width: 0; display: grid; }
.option-title { font-weight: 600; }
.option-hint { color: var(--muted); font-size: 14px; line-height: 1.4; }
.chevron { color: var(--muted); font-size: 24px; line-height: 1; }
.tile {
  display: grid; place-items: center; flex: none; width: 40px; height: 40px; border-radius: 10px; font-weight: 700;
  color: #ffffff; background: #4d5468;
}
.tile-sandbox { background: #8a4b08; }
.tile-imap { background: #3d3fc4; }
.tile-google { background: #1f6b34; }
.tile-microsoft { background: #0b5a91; }
.field { margin-bottom: 18px; }
label, legend { display: block; margin-bottom: 6px; font-weight: 600; font-size: 15px; }
input:not([type=hidden]), select {
  display: block; width: 100%; min-height: 48px; padding: 10px 14px; border: 1px solid var(--field-line);
  border-radius: 10px; background: var(--card); color: var(--text); font: inherit;
}
input:focus-visible, select:focus-visible { outline-offset: 0; border-radius: 10px; border-color: var(--accent); }
[aria-invalid=true] { border-color: var(--error) !important; border-width: 2px !important; }
.hint { margin: 6px 0 0; color: var(--muted); font-size: 14px; line-height: 1.45; }
.centered { text-align: center; }
.error { margin: 6px 0 0; color: var(--error); font-size: 14px; line-height: 1.45; font-weight: 600; }
.alert {
  margin: 0 0 20px; padding: 12px 16px; border: 1px solid var(--error-line); border-radius: 10px;
  background: var(--error-tint); color: var(--error); font-size: 15px;
}
.alert a { color: inherit; }
.alert ul { margin: 4px 0 0; padding-left: 18px; }
.alert-title { margin: 0; font-weight: 650; }
.button {
  display: block; width: 100%; min-height: 48px; padding: 11px 16px; border: 1px solid transparent; border-radius: 10px;
  background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 650; text-align: center;
  text-decoration: none; cursor: pointer;
}
.button:hover { background: var(--accent-strong); color: var(--on-accent); }
.button:focus-visible { border-radius: 10px; }
.quiet { margin-top: 12px; background: transparent; border-color: var(--field-line); color: var(--text); }
.quiet:hover { background: var(--hover); color: var(--text); }
.servers { margin: 0 0 20px; border: 1px solid var(--line); border-radius: 10px; padding: 0 16px; }
.servers > summary { padding: 12px 0; font-weight: 600; font-size: 15px; cursor: pointer; }
.servers[open] { padding-bottom: 4px; }
.servers > .hint { margin: 0 0 12px; }
fieldset { margin: 0 0 4px; padding: 14px 0 0; border: 0; border-top: 1px solid var(--line); min-width: 0; }
legend { float: left; width: 100%; margin-bottom: 10px; color: var(--muted); }
legend + * { clear: both; }
.row { display: grid; grid-template-columns: minmax(0, 1fr) 104px; gap: 12px; }
.account {
  display: flex; flex-wrap: wrap; align-items: center; gap: 4px 10px; margin: 0; padding: 12px 16px;
  border: 1px solid var(--line); border-radius: 12px; background: var(--page);
}
.account strong { flex: 1; min-width: 60%; }
.account a { font-size: 14px; }
.account-mark { color: var(--muted); }
.scopes { margin: 0 0 24px; padding: 0; list-style: none; }
.scopes li { position: relative; padding: 8px 0 8px 32px; border-bottom: 1px solid var(--line); }
.scopes li:last-child { border-bottom: 0; }
.scopes li::before {
  content: ""; position: absolute; left: 8px; top: 13px; width: 6px; height: 11px; border: solid var(--accent);
  border-width: 0 2.5px 2.5px 0; transform: rotate(45deg);
}
.aside { margin: 16px 0 0; text-align: center; }
.aside a { display: inline-block; padding: 8px 12px; }
.fine { margin: 20px 0 0; padding-top: 16px; border-top: 1px solid var(--line); color: var(--muted); font-size: 13px; line-height: 1.5; text-wrap: pretty; }
.foot { margin-top: 24px; color: var(--muted); font-size: 14px; }
.brand { display: inline-flex; align-items: center; gap: 6px; font-weight: 600; }
.brand svg { fill: currentcolor; }
@media (max-width: 480px) {
  body { padding: 0 0 20px; background: var(--card); }
  .card { padding: 28px 20px 20px; border: 0; border-radius: 0; box-shadow: none; }
  .row { grid-template-columns: minmax(0, 1fr) 92px; }
  h1 { font-size: 22px; }
}
@media (forced-colors: active) {
  .button, .tile, .mark { border: 1px solid; }
}
`;

/** The bell, in a viewbox of 24 by 24. */
export const BELL_PATH =
  'M12 2.6a1.4 1.4 0 0 1 1.4 1.4v.6a6 6 0 0 1 4.6 5.9c0 4.6 1.9 6 1.9 6.9 0 .6-.4.9-1 .9H5.1c-.6 0-1-.3-1-.9 0-.9 1.9-2.3 1.9-6.9a6 6 0 0 1 4.6-5.9V4A1.4 1.4 0 0 1 12 2.6Zm-2.3 17h4.6a2.3 2.3 0 0 1-4.6 0Z';

/** The icon of the pages. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="#3d3fc4"/><path fill="#fff" transform="translate(3 3) scale(.75)" d="${BELL_PATH}"/></svg>`;

/** Part of the file name that changes with the content, so browsers may cache the file for ever. */
const versionOf = (content: string): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 16);

export const STYLES_NAME = `sign-in.${versionOf(STYLES)}.css`;
export const ICON_NAME = `icon.${versionOf(ICON)}.svg`;

/** URL paths of the two files. */
export const STYLES_PATH = `/connect/login/${STYLES_NAME}`;
export const ICON_PATH = `/connect/login/${ICON_NAME}`;
