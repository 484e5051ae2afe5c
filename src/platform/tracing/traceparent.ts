/*
 * The `traceparent` (W3C Trace Context) of work, for files that commands of `carillon` load. The
 * API of OpenTelemetry has 44 files; only `spans.ts` imports it (docs/adr/0093).
 */

let read = (): string | null => null;

/** Sets how the `traceparent` of the current span is read. `spans.ts` calls it when it loads. */
export function readTraceparentWith(reader: () => string | null): void {
  read = reader;
}

/**
 * The `traceparent` of the current span; `null` if there is none or nobody listens. A program that
 * has not loaded `spans.ts` has no spans.
 */
export function currentTraceparent(): string | null {
  return read();
}

/** Id of the trace of a `traceparent`, for log lines. */
export function traceIdOf(traceparent: string | null | undefined): string | undefined {
  return traceparent?.split('-', 2)[1];
}
