/** The overview: what needs attention, and charts. */
export const CHARTS = `.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(260px, 1fr)); gap: 16px; }
.chart { display: flex; flex-direction: column; gap: 8px; margin: 0; padding: 16px 18px; background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.chart figcaption { display: grid; grid-template-columns: 1fr; }
.chart-title { color: var(--muted); font-weight: 600; font-size: 13px; }
.chart-headline { font-size: 26px; font-weight: 600; line-height: 1.25; letter-spacing: -0.01em; font-variant-numeric: tabular-nums; }
.plot { display: block; width: 100%; height: 64px; overflow: visible; }
.plot .ground { fill: none; stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.plot .hit { fill: transparent; }
.plot g:hover .hit { fill: var(--text); fill-opacity: 0.08; }
.fill-good { fill: var(--good-mark); background: var(--good-mark); }
.fill-busy { fill: var(--busy-mark); background: var(--busy-mark); }
.fill-warning { fill: var(--warning-mark); background: var(--warning-mark); }
.fill-bad { fill: var(--bad-mark); background: var(--bad-mark); }
.line-good, .line-busy, .line-warning, .line-bad { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; vector-effect: non-scaling-stroke; }
.line-good { stroke: var(--good-mark); }
.line-busy { stroke: var(--busy-mark); }
.line-warning { stroke: var(--warning-mark); }
.line-bad { stroke: var(--bad-mark); }
.axis { display: flex; justify-content: space-between; color: var(--muted); font-size: 12px; font-variant-numeric: tabular-nums; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 14px; list-style: none; margin: 0; padding: 0; font-size: 12.5px; color: var(--muted); }
.legend li { display: inline-flex; align-items: center; gap: 6px; }
.swatch { width: 10px; height: 10px; border-radius: 3px; }
.figures { margin-top: auto; font-size: 13px; }
.figures summary { width: fit-content; color: var(--muted); cursor: pointer; }
.figures-frame { max-height: 220px; margin-top: 6px; overflow: auto; }
.figures table { width: 100%; border-collapse: collapse; }
.figures th, .figures td { padding: 3px 6px 3px 0; border-bottom: 1px solid var(--soft); text-align: left; font-weight: 400; white-space: nowrap; }
.figures thead th { color: var(--muted); }
.attention { list-style: none; margin: 0; padding: 0; background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.attention-item { display: flex; gap: 12px; align-items: flex-start; padding: 10px 18px; border-bottom: 1px solid var(--soft); }
.attention-item:last-child { border-bottom: 0; }
.attention-item > .icon { margin-top: 2px; color: var(--warning); stroke-width: 2; }
.attention-bad > .icon { color: var(--bad); }
.attention-good > .icon { color: var(--good); }
.attention-item div { flex: 1; min-width: 0; overflow-wrap: anywhere; }
.attention-title { font-weight: 600; }
.attention-item p + p { color: var(--muted); }
.attention-item > a { flex: none; align-self: center; font-weight: 600; }
.tally + .meter, .tally + .hint { margin: 14px 0 6px; }
.meter { display: grid; grid-template-columns: minmax(48px, 120px) auto; gap: 10px; align-items: center; justify-content: start; }
.meter svg { width: 100%; height: 6px; border-radius: 3px; }
.ground-fill { fill: var(--soft); }
@media (max-width: 860px) {
  .attention-item { flex-wrap: wrap; }
  .attention-item div { flex-basis: calc(100% - 40px); }
  .attention-item > a { display: inline-flex; align-items: center; min-height: 44px; margin: -8px 0 -8px 28px; }
  .figures summary { padding: 10px 0; }
}
`;
