/** A span of time in Unix seconds; the end is exclusive. */
export interface Span {
  start: number;
  end: number;
}

/** Merges spans that overlap or touch. The result is ordered by start and has no empty spans. */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  let last: Span | undefined;
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    if (end <= start) continue;
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else merged.push((last = { start, end }));
  }
  return merged;
}

/**
 * The parts of `whole` that no span covers.
 * @param spans as returned by `mergeSpans`
 */
export function gapsBetween(spans: readonly Span[], whole: Span): Span[] {
  const gaps: Span[] = [];
  let from = whole.start;
  for (const { start, end } of spans) {
    if (start >= whole.end) break;
    if (start > from) gaps.push({ start: from, end: start });
    from = Math.max(from, end);
  }
  if (from < whole.end) gaps.push({ start: from, end: whole.end });
  return gaps;
}

/** The part of each span that lies within `whole`; spans outside are left out. */
export function clipSpans(spans: readonly Span[], whole: Span): Span[] {
  return spans.flatMap(({ start, end }) => {
    const part = { start: Math.max(start, whole.start), end: Math.min(end, whole.end) };
    return part.start < part.end ? part : [];
  });
}

/**
 * Returns a function that checks whether a span lies within one of `spans`. Each checked span must
 * begin no earlier than the one checked before.
 * @param spans as returned by `mergeSpans`
 */
export function containment(spans: readonly Span[]): (piece: Span) => boolean {
  let index = 0;
  return ({ start, end }) => {
    while (index < spans.length && spans[index]!.end <= start) index += 1;
    const span = spans[index];
    return span !== undefined && span.start <= start && end <= span.end;
  };
}
