import type { Answer, Question } from '../child.ts';

type Handler = (argument: never) => unknown;

function send(answer: Answer): void {
  process.send?.(answer);
}

/**
 * The child's side of `BenchProcess`: says that it has started and answers questions by name. Ends with its parent.
 * @param ready what the parent is told first
 */
export function serve(ready: unknown, handlers: Readonly<Record<string, Handler>> = {}): void {
  process.on('message', ({ number, name, argument }: Question) => {
    const handler = handlers[name];
    void Promise.resolve()
      .then(() => {
        if (!handler) throw new Error(`nobody answers ${name}`);
        return handler(argument as never);
      })
      .then(
        (value) => send({ number, value }),
        (error: unknown) =>
          send({ number, error: error instanceof Error ? error.stack : String(error) }),
      );
  });
  process.on('disconnect', () => process.exit(0));
  send({ number: 0, value: ready });
}
