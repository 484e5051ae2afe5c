import { context, propagation, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';

/** Records the spans of this process, as an SDK does that an operator loads. */
export class SpanRecorder {
  readonly #exporter = new InMemorySpanExporter();
  readonly #provider = new NodeTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(this.#exporter)],
  });

  /** Begins to listen. Call `stop` when the suite ends: other suites may share the process. */
  start(): void {
    this.#provider.register();
  }

  async stop(): Promise<void> {
    trace.disable();
    context.disable();
    propagation.disable();
    await this.#provider.shutdown();
  }

  /** The ended spans of one trace, in the order of their ends. */
  of(traceId: string): ReadableSpan[] {
    return this.#exporter
      .getFinishedSpans()
      .filter((span) => span.spanContext().traceId === traceId);
  }

  /** All ended spans with this name. */
  named(name: string): ReadableSpan[] {
    return this.#exporter.getFinishedSpans().filter((span) => span.name === name);
  }
}

/** One line for each span of a trace: its name below its parents' names. */
export function pathsOf(spans: readonly ReadableSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const path = (span: ReadableSpan): string => {
    const parent = byId.get(span.parentSpanContext?.spanId ?? '');
    return parent ? `${path(parent)} > ${span.name}` : span.name;
  };
  return spans.map(path).toSorted();
}
