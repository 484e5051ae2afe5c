import { pageAsset } from '../../../platform/pages/assets.ts';
import { ICON } from '../../../platform/pages/brand.ts';
import { PALETTE } from '../../../platform/pages/palette.ts';

const FOLDER = '/connect/login';

/** The only stylesheet of the sign-in pages. */
export const STYLES_FILE = pageAsset(
  FOLDER,
  'sign-in.css',
  `${PALETTE}body {
  margin: 0; min-height: 100vh; min-height: 100dvh; padding: 40px 16px 24px; display: flex; flex-direction: column;
  align-items: center; background: var(--page); color: var(--text);
  font: 16px/1.5 var(--font);
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
`,
);

/** The icon of the pages. */
export const ICON_FILE = pageAsset(FOLDER, 'icon.svg', ICON);
