/** Colours of states, the frame of the pages, and the menu. */
export const FRAME = `:root {
  --good: #1a6b3c; --good-tint: #e6f4ea; --good-mark: #2e9e5b;
  --busy: #3d3fc4; --busy-tint: #ededfc; --busy-mark: #6f72e8;
  --idle: #565d73; --idle-tint: #eceef4;
  --warning: #8a4b00; --warning-tint: #fdf1dc; --warning-mark: #d98a1c; --warning-line: #eccf9c;
  --bad: #b3151f; --bad-tint: #fdecec; --bad-mark: #d6404a;
  --side: #fafbfd; --soft: #eef0f5; --mono: ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --good: #84d9a4; --good-tint: #173325; --good-mark: #4fb97c;
    --busy: #b3b5ff; --busy-tint: #262a49; --busy-mark: #8285f0;
    --idle: #a9b0c5; --idle-tint: #262b3a;
    --warning: #f3c073; --warning-tint: #382a12; --warning-mark: #d99a3c; --warning-line: #66501f;
    --bad: #ff9da2; --bad-tint: #3a1d22; --bad-mark: #e2666f;
    --side: #141722; --soft: #222634;
  }
}
body { margin: 0; background: var(--page); color: var(--text); font: 14px/1.5 var(--font); }
h1 { margin: 0; font-size: 22px; line-height: 1.25; font-weight: 650; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { margin: 0 0 12px; font-size: 15px; font-weight: 650; }
h3 { margin: 0 0 8px; font-size: 14px; font-weight: 650; }
p { margin: 0; text-wrap: pretty; }
code, pre { font-family: var(--mono); font-size: 12.5px; }
code { overflow-wrap: anywhere; }
.aside, .nothing { color: var(--muted); }
.ago { white-space: nowrap; }
.unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.icon { flex: none; width: 16px; height: 16px; fill: none; stroke: currentcolor; stroke-width: 1.6; stroke-linecap: round; stroke-linejoin: round; }
.skip { position: absolute; left: 12px; top: -60px; z-index: 3; padding: 8px 14px; background: var(--card); border-radius: 8px; }
.skip:focus { top: 8px; }
.brand { display: inline-flex; align-items: center; gap: 8px; color: var(--text); font-weight: 650; font-size: 16px; text-decoration: none; }
.brand svg { fill: var(--accent); flex: none; }

.console { display: grid; grid-template-columns: 216px minmax(0, 1fr); min-height: 100vh; min-height: 100dvh; background: linear-gradient(to right, var(--side) 215px, var(--line) 215px 216px, var(--page) 216px); }
.bar {
  position: sticky; top: 0; height: 100vh; height: 100dvh; display: flex; flex-direction: column; gap: 20px;
  padding: 20px 12px 12px;
}
.bar > .brand { padding: 0 10px; }
.button.menu-button { display: none; }
.menu {
  position: static; inset: auto; display: flex; flex: 1; flex-direction: column; justify-content: space-between; width: auto; height: auto;
  margin: 0; padding: 0; border: 0; background: none; color: inherit; overflow: visible;
}
.menu ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 2px; }
.menu li a {
  display: flex; align-items: center; gap: 10px; min-height: 36px; padding: 6px 10px; border-radius: 8px; color: var(--muted);
  font-weight: 550; text-decoration: none;
}
.menu li a:hover { background: var(--soft); color: var(--text); }
.menu li a[aria-current] { background: var(--tint); color: var(--accent); font-weight: 650; }
.viewer { display: grid; gap: 6px; padding: 12px 10px 0; border-top: 1px solid var(--line); }
.viewer p { display: flex; flex-wrap: wrap; gap: 4px 8px; align-items: center; justify-content: space-between; overflow-wrap: anywhere; }
.viewer .button { justify-content: flex-start; width: calc(100% + 20px); margin: 0 -10px; padding-left: 10px; }
main { outline: none; }
.console main { width: 100%; max-width: 1240px; padding: 28px 32px 64px; }
.crumbs ol { display: flex; flex-wrap: wrap; gap: 6px; list-style: none; margin: 0 0 6px; padding: 0; font-size: 13px; }
.crumbs li + li::before { content: "/"; margin-right: 6px; color: var(--muted); }
.title { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 12px; }
.lead { margin-top: 4px; color: var(--muted); max-width: 76ch; overflow-wrap: anywhere; }
#live { display: grid; gap: 20px; margin-top: 20px; }
#live > * { min-width: 0; }
#announcement {
  position: fixed; right: 20px; bottom: 20px; z-index: 4; padding: 8px 14px; border-radius: 8px; background: var(--text); color: var(--card);
}
#announcement:empty { display: none; }
.stale .title::after { content: "These figures are old: the server did not answer"; color: var(--bad); font-weight: 600; }
.alone { display: grid; place-items: start center; min-height: 100vh; min-height: 100dvh; padding: 9vh 16px 32px; font-size: 16px; }
.card { width: 100%; max-width: 420px; padding: 32px; background: var(--card); border: 1px solid var(--line); border-radius: 16px; box-shadow: var(--shadow); }
.card > h1 { margin: 20px 0 4px; }
.card .field { margin-top: 16px; }
.card .button { width: 100%; min-height: 46px; margin-top: 20px; font-size: 15px; }
.card p + p, .card .notice { margin-top: 12px; }
.or { display: flex; align-items: center; gap: 12px; margin-top: 20px; color: var(--muted); font-size: 14px; }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }
@media (max-width: 860px) {
  .console { display: block; background: var(--page); }
  .bar {
    position: sticky; z-index: 2; height: auto; flex-direction: row; align-items: center; justify-content: space-between; padding: 8px 16px;
    background: var(--side); border-bottom: 1px solid var(--line);
  }
  .bar > .brand { padding: 4px 0; }
  .button.menu-button { display: inline-flex; }
  .menu { display: none; }
  .menu:popover-open {
    position: fixed; inset: 57px 12px auto; display: flex; gap: 12px; max-height: calc(100dvh - 72px); padding: 12px; overflow: auto;
    border: 1px solid var(--line); border-radius: 14px; background: var(--card); box-shadow: var(--shadow);
  }
  .menu::backdrop { background: rgb(0 0 0 / 35%); }
  .menu li a { min-height: 44px; font-size: 16px; }
  .console main { padding: 20px 16px 48px; }
}
`;
