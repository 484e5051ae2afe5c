/** A piece of time; Unix seconds, the end not included. */
export interface Span {
  start: number;
  end: number;
}

/** The same time as pieces that neither overlap nor touch, earliest first; empty pieces are gone. */
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

/** What is left of `whole`. @param spans as `mergeSpans` gives them */
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

/** The part of each that is in `whole`, without those that have none. */
export function clipSpans(spans: readonly Span[], whole: Span): Span[] {
  return spans.flatMap(({ start, end }) => {
    const part = { start: Math.max(start, whole.start), end: Math.min(end, whole.end) };
    return part.start < part.end ? part : [];
  });
}

/**
 * Tells of one piece of time after the other, each beginning no earlier than the one before, whether it is within one
 * of the spans.
 * @param spans as `mergeSpans` gives them
 */
export function containment(spans: readonly Span[]): (piece: Span) => boolean {
  let index = 0;
  return ({ start, end }) => {
    while (index < spans.length && spans[index]!.end <= start) index += 1;
    const span = spans[index];
    return span !== undefined && span.start <= start && end <= span.end;
  };
}
