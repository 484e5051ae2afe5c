/** Buttons, chips, tables, filters, timelines and the other parts of pages. */
export const PARTS = `.button {
  display: inline-flex; align-items: center; justify-content: center; gap: 6px; min-height: 36px; padding: 6px 14px; border: 1px solid var(--field-line);
  border-radius: 8px; background: var(--card); color: var(--text); font: inherit; font-weight: 600; text-decoration: none; cursor: pointer; white-space: nowrap;
}
.button:hover { background: var(--hover); border-color: var(--accent); color: var(--text); }
.button.primary { background: var(--accent); border-color: transparent; color: var(--on-accent); }
.button.primary:hover { background: var(--accent-strong); color: var(--on-accent); }
.button.danger { border-color: var(--bad-mark); color: var(--bad); }
.button.danger:hover { background: var(--bad-tint); color: var(--bad); }
button.button.danger { background: var(--bad); border-color: transparent; color: var(--card); }
button.button.danger:hover { background: var(--bad); color: var(--card); filter: brightness(1.1); }
.button.plain { border-color: transparent; background: none; color: var(--muted); }
.button.plain:hover { background: var(--soft); color: var(--text); }
.button.small { min-height: 32px; padding: 4px 10px; font-size: 13px; }
.actions { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.action { display: grid; gap: 16px; max-width: 560px; }

.chip {
  display: inline-flex; align-items: center; gap: 4px; padding: 1px 8px 1px 6px; border-radius: 999px; font-size: 12.5px; font-weight: 600;
  line-height: 20px; white-space: nowrap; vertical-align: text-bottom;
}
.chip .icon { width: 13px; height: 13px; stroke-width: 2.2; }
.chip-good { background: var(--good-tint); color: var(--good); }
.chip-busy { background: var(--busy-tint); color: var(--busy); }
.chip-idle { background: var(--idle-tint); color: var(--idle); }
.chip-warning { background: var(--warning-tint); color: var(--warning); }
.chip-bad { background: var(--bad-tint); color: var(--bad); }

.panel { padding: 18px 20px; background: var(--card); border: 1px solid var(--line); border-radius: 12px; overflow-wrap: anywhere; }
.panel > .table-frame { margin: 0 -20px -18px; border: 0; border-top: 1px solid var(--line); border-radius: 0 0 12px 12px; }
.folded summary { width: fit-content; font-weight: 600; cursor: pointer; }
.folded[open] summary { margin-bottom: 14px; }
.panel > p + p { margin-top: 12px; }
.panel-head { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; justify-content: space-between; margin-bottom: 12px; }
.panel-head h2 { margin: 0; }
.columns { display: grid; grid-template-columns: minmax(0, 1.6fr) minmax(0, 1fr); gap: 20px; align-items: start; }
.columns > * { min-width: 0; }
.stack { display: grid; gap: 20px; }
.notice { display: flex; gap: 10px; margin-top: 16px; padding: 10px 14px; border-radius: 10px; align-items: flex-start; overflow-wrap: anywhere; }
.notice .icon { margin-top: 2px; }
.notice-good { background: var(--good-tint); color: var(--good); }
.notice-bad { background: var(--bad-tint); color: var(--bad); }

.facts { display: grid; gap: 0; margin: 0; }
.facts > div { display: grid; grid-template-columns: minmax(96px, min(28%, 190px)) minmax(0, 1fr); gap: 12px; padding: 7px 0; border-bottom: 1px solid var(--soft); }
.facts > div:last-child { border-bottom: 0; padding-bottom: 0; }
.facts > div:first-child { padding-top: 0; }
.facts .reasons { margin: 0; }
.facts dt { color: var(--muted); }
.facts dd { margin: 0; overflow-wrap: anywhere; }

.table-frame { background: var(--card); border: 1px solid var(--line); border-radius: 12px; overflow-x: auto; }
.table-frame table { width: 100%; border-collapse: collapse; }
.table-frame th { padding: 9px 14px; background: var(--side); border-bottom: 1px solid var(--line); color: var(--muted); font-size: 12.5px; font-weight: 600; text-align: left; white-space: nowrap; }
.table-frame td { padding: 9px 14px; border-bottom: 1px solid var(--soft); vertical-align: top; overflow-wrap: break-word; }
.table-frame tbody tr:last-child td { border-bottom: 0; }
.table-frame tbody tr:hover { background: var(--hover); }
.table-frame .number, .figures .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.table-frame .main { min-width: 220px; font-weight: 550; }
.table-frame .wide { min-width: 180px; }
.columns .main, .columns .wide { min-width: 0 !important; }
.table-frame a:not(.button), .facts a:not(.button) { text-decoration-color: color-mix(in srgb, currentcolor 30%, transparent); text-decoration-thickness: 1px; }
.table-frame a:hover, .facts a:hover { text-decoration-color: currentcolor; }
.table-frame time { white-space: nowrap; }
.sub { display: block; color: var(--muted); font-weight: 400; font-size: 13px; }
.two-lines, .sub.two-lines { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; min-width: 16ch; overflow: hidden; overflow-wrap: anywhere; }
.list-count { margin-bottom: -8px; color: var(--muted); font-size: 13px; font-variant-numeric: tabular-nums; }
.id { display: inline-flex; align-items: center; gap: 2px; max-width: 100%; }
.short code { white-space: nowrap; }
.copy { display: inline-grid; place-items: center; flex: none; width: 26px; height: 26px; margin: -3px 0; padding: 0; border: 0; border-radius: 6px; background: none; color: var(--muted); cursor: pointer; }
.copy[hidden] { display: none; }
.copy .icon { width: 14px; height: 14px; }
.copy:hover { background: var(--soft); color: var(--text); }
.copy.copied { color: var(--good); }
.empty { padding: 36px 20px; border: 1px dashed var(--field-line); border-radius: 12px; color: var(--muted); text-align: center; }
.panel .empty { padding: 20px; }
.empty-title { margin-bottom: 4px; color: var(--text); font-weight: 600; font-size: 15px; }
.pager { display: flex; gap: 12px; align-items: center; justify-content: flex-end; }

.filters { display: flex; flex-wrap: wrap; gap: 12px; align-items: flex-end; }
.filter { flex: 1 1 150px; max-width: 220px; }
.filter.wide { flex: 3 1 280px; max-width: none; }
.more-filters { flex-basis: 100%; }
.more-filters summary { width: fit-content; color: var(--muted); cursor: pointer; }
.more-filters div:first-of-type { margin-top: 8px; }
.more-fields { display: flex; flex-wrap: wrap; gap: 12px; }
.filter-buttons { display: flex; gap: 4px; }
label { display: block; margin-bottom: 4px; font-size: 13px; font-weight: 600; }
input:not([type=hidden], [type=checkbox], [type=radio]), select {
  display: block; width: 100%; min-height: 36px; padding: 6px 10px; border: 1px solid var(--field-line); border-radius: 8px; background: var(--card);
  color: var(--text); font: inherit;
}
.card input:not([type=hidden]) { min-height: 46px; font-size: 16px; }
.hint { margin-top: 4px; color: var(--muted); font-size: 13px; }
.error { margin-top: 4px; color: var(--bad); font-size: 14px; font-weight: 600; }
[aria-invalid=true] { border-color: var(--bad) !important; border-width: 2px !important; }

.timeline { list-style: none; margin: 0; padding: 0; }
.moment { position: relative; display: flex; gap: 12px; padding-bottom: 18px; }
.moment:last-child { padding-bottom: 0; }
.moment::before { content: ""; position: absolute; left: 13px; top: 30px; bottom: 2px; border-left: 2px solid var(--soft); }
.moment:last-child::before { display: none; }
.moment-sign { display: grid; place-items: center; flex: none; width: 28px; height: 28px; border-radius: 50%; background: var(--idle-tint); color: var(--idle); }
.moment-good .moment-sign { background: var(--good-tint); color: var(--good); }
.moment-busy .moment-sign { background: var(--busy-tint); color: var(--busy); }
.moment-warning .moment-sign { background: var(--warning-tint); color: var(--warning); }
.moment-bad .moment-sign { background: var(--bad-tint); color: var(--bad); }
.moment-body { flex: 1; min-width: 0; padding-top: 3px; overflow-wrap: anywhere; }
.moment-title { font-weight: 600; }
.moment-time { color: var(--muted); font-size: 13px; }
.verbatim { margin: 8px 0 0; padding: 8px 12px; max-height: 220px; overflow: auto; border-radius: 8px; background: var(--soft); white-space: pre-wrap; overflow-wrap: anywhere; }
.verbatim:first-child { margin-top: 0; }

.problems { display: grid; gap: 14px; list-style: none; margin: 0; padding: 0; }
.problems li + li { padding-top: 14px; border-top: 1px solid var(--soft); }
.problems .chip + p { margin-top: 6px; }
.check { display: flex; gap: 8px; align-items: center; min-height: 36px; margin: 0; font-weight: 500; }
.check input { width: 18px; height: 18px; flex: none; accent-color: var(--accent); }
.secret { padding: 12px 14px; border: 1px solid var(--line); border-radius: 10px; background: var(--soft); overflow-wrap: anywhere; }

.confirm { display: flex; gap: 12px; padding: 16px 18px; border: 1px solid var(--line); border-radius: 12px; background: var(--card); }
.confirm > .icon { margin-top: 3px; }
.confirm p + p { margin-top: 6px; }
.confirm-danger { border-color: var(--warning-line); background: var(--warning-tint); color: var(--warning); }
.confirm-danger .aside { color: inherit; }
.tally { display: grid; grid-template-columns: repeat(auto-fit, minmax(88px, 1fr)); gap: 12px; margin: 0; }
.tally dt { color: var(--muted); font-size: 13px; }
.tally dd { margin: 0; font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tally-main dd { color: var(--accent); }
.reasons { margin: 12px 0 0; padding-left: 18px; }
.written { margin: 8px 0 0; max-height: 320px; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px; }
.preview { display: block; width: 100%; height: 560px; border: 1px solid var(--line); border-radius: 10px; background: #ffffff; }
@media (max-width: 860px) {
  .columns { grid-template-columns: minmax(0, 1fr); }
  .button, .button.small { min-height: 44px; }
  .copy { width: 40px; height: 40px; margin: -10px 0; }
  input:not([type=hidden], [type=checkbox], [type=radio]), select { min-height: 44px; font-size: 16px; }
  .filter, .filter.wide { flex: 1 1 100%; max-width: none; }
  .table-frame { border: 0; background: none; border-radius: 0; overflow: visible; }
  .panel > .table-frame { margin: 0; border: 0; }
  .table-frame thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .table-frame table, .table-frame tbody { display: block; }
  .table-frame tr { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 4px 12px; margin-bottom: 10px; padding: 10px 14px; background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
  .panel .table-frame tr { padding: 10px 0; border-width: 1px 0 0; border-radius: 0; margin: 0; }
  .table-frame td { display: flex; grid-column: 1 / -1; gap: 12px; justify-content: space-between; padding: 0; border: 0; text-align: right; }
  .table-frame .main, .table-frame .wide { min-width: 0; }
  .many-numbers td.number { display: block; grid-column: auto; text-align: left; }
  .many-numbers td.number::before { display: block; font-size: 12.5px; }
  .table-frame td[data-title]::before { content: attr(data-title); flex: none; color: var(--muted); text-align: left; }
  .table-frame td.main { display: block; text-align: left; font-size: 15px; }
  .table-frame td.main::before { display: none; }
  .cell { min-width: 0; }
}
@media (forced-colors: active) {
  .button, .chip, .panel { border: 1px solid; }
}
@media (prefers-reduced-motion: no-preference) {
  .button, .menu a, .copy { transition: background-color 120ms, border-color 120ms, color 120ms; }
}
`;
