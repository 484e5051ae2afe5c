import {
  type Attributes,
  type Context,
  context,
  type ProxyTracerProvider,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type TracerProvider,
  type Tracer,
} from '@opentelemetry/api';
import { forLog } from '../base/text/for-log.ts';
import { readTraceparentWith } from './traceparent.ts';

/*
 * Traces (docs/tracing.md). Carillon uses only the API of OpenTelemetry. The operator loads an SDK,
 * which registers a tracer provider. Without one, every function here returns at once and creates
 * nothing.
 */

export { type Span, SpanKind };

const NAME = 'carillon';

/** The registered tracer, or `null` if no SDK is loaded and nobody listens. */
function tracer(): Tracer | null {
  const provider = trace.getTracerProvider() as TracerProvider & Partial<ProxyTracerProvider>;
  // The proxy exists without an SDK too, and then has no delegate.
  if (provider.getDelegateTracer) return provider.getDelegateTracer(NAME) ?? null;
  return provider.getTracer(NAME);
}

/** Whether an SDK is loaded that records spans. */
export const isTraced = (): boolean => tracer() !== null;

/** What a span describes. */
export interface SpanDescription {
  name: string;
  kind: SpanKind;
  attributes: Attributes;
  /**
   * Parent as a `traceparent` (W3C Trace Context) from a queue row or another process; `null`: the
   * span begins a trace. Absent: the current span is the parent.
   */
  parent?: string | null | undefined;
}

/**
 * Begins a span. Its user must end it.
 * @returns `null` if nobody listens
 */
export function beginSpan(describe: () => SpanDescription): Span | null {
  const listener = tracer();
  if (!listener) return null;
  const { name, kind, attributes, parent } = describe();
  const within = parent === undefined ? context.active() : contextOf(parent);
  return listener.startSpan(name, { kind, attributes }, within);
}

/**
 * Begins the span of a request that another program sent. The caller's span is the parent if its
 * headers name one and no span is current.
 * @returns `null` if nobody listens
 */
export function beginRequestSpan(
  headers: Readonly<Record<string, unknown>>,
  describe: () => Omit<SpanDescription, 'parent' | 'kind'>,
): Span | null {
  const listener = tracer();
  if (!listener) return null;
  const active = context.active();
  const within = trace.getSpan(active) ? active : propagation.extract(active, headers);
  return listener.startSpan(describe().name, { ...describe(), kind: SpanKind.SERVER }, within);
}

/** Runs `work` with the span as the current one. The span does not end with it. */
export function inSpan<T>(span: Span, work: () => T): T {
  return context.with(trace.setSpan(context.active(), span), work);
}

/**
 * Runs `work` in a span of its own, which records an error that `work` throws. Without a listener
 * it only runs `work`.
 */
export async function spanned<T>(
  describe: () => SpanDescription,
  work: (span: Span | null) => Promise<T>,
): Promise<T> {
  const span = beginSpan(describe);
  if (!span) return work(null);
  try {
    return await inSpan(span, () => work(span));
  } catch (error) {
    failSpan(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Marks a span as failed, with the bounded text of the error and no addresses. */
export function failSpan(span: Span, error: unknown): void {
  const text = error instanceof Error ? error.message || error.name : String(error);
  span.setStatus({ code: SpanStatusCode.ERROR, message: forLog(text) });
}

/** Adds attributes to the current span, if there is one. */
export function annotateSpan(attributes: Attributes): void {
  trace.getActiveSpan()?.setAttributes(attributes);
}

/** The `traceparent` of a span (W3C Trace Context): it is stored with work that follows. */
export function traceparentOf(span: Span): string | null {
  const of = span.spanContext();
  if (!trace.isSpanContextValid(of)) return null;
  return `00-${of.traceId}-${of.spanId}-${of.traceFlags.toString(16).padStart(2, '0')}`;
}

readTraceparentWith(() => {
  const span = trace.getActiveSpan();
  return span && tracer() ? traceparentOf(span) : null;
});

/**
 * Runs `work` as if the span of `traceparent` were the current one. For work that is done later, or
 * for several traces together.
 * @param traceparent `null` or absent: no span is current
 */
export function underTrace<T>(traceparent: string | null | undefined, work: () => T): T {
  return context.with(contextOf(traceparent ?? null), work);
}

/** Runs `work` outside any span: for batches and timers, which serve several traces. */
export function outsideSpans<T>(work: () => T): T {
  return context.with(ROOT_CONTEXT, work);
}

/** Headers that continue the current trace at a receiver; empty if nobody listens. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}

/** Ids of the current span, or of `span`, for log lines; `undefined` if there is none. */
export function traceIds(
  span: Span | null | undefined = trace.getActiveSpan(),
): { trace_id: string; span_id: string } | undefined {
  const of = span?.spanContext();
  if (!of || !trace.isSpanContextValid(of)) return undefined;
  return { trace_id: of.traceId, span_id: of.spanId };
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

function contextOf(traceparent: string | null): Context {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (!traceId) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags, 16);
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}
