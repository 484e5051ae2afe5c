import type { Answer, Question } from '../child.ts';

type Handler = (argument: never) => unknown;

function send(answer: Answer): void {
  process.send?.(answer);
}

/**
 * The child's side of `BenchProcess`. Reports that it has started, and then answers questions by
 * name. Ends when its parent ends.
 * @param ready the first message to the parent
 */
export function serve(ready: unknown, handlers: Readonly<Record<string, Handler>> = {}): void {
  process.on('message', ({ number, name, argument }: Question) => {
    const handler = handlers[name];
    void Promise.resolve()
      .then(() => {
        if (!handler) throw new Error(`there is no handler named ${name}`);
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
