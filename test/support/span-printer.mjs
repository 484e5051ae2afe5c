// Loaded with `node --import`, as an operator loads an SDK. Prints each ended span as a JSON line.
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';

const printer = {
  export(spans, done) {
    for (const span of spans) {
      const { traceId, spanId } = span.spanContext();
      const { name, attributes, status, parentSpanContext } = span;
      const parentId = parentSpanContext?.spanId ?? null;
      const line = { span: { name, traceId, spanId, parentId, attributes, status } };
      process.stdout.write(`${JSON.stringify(line)}\n`);
    }
    done({ code: 0 });
  },
  shutdown: () => Promise.resolve(),
};
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(printer)] }).register();
