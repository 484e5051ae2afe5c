import type { NextFunction, RequestHandler } from 'express';

/**
 * Makes one middleware of several, which run in turn until one does not call `next` or calls it
 * with an error. Express matches a path and prepares the request for each middleware of its own,
 * which costs more than most of them do.
 */
export function inTurn(...steps: readonly RequestHandler[]): RequestHandler {
  return (request, response, next) => {
    const run = (at: number): void => {
      const step = steps[at];
      if (!step) return next();
      const go: NextFunction = (error?: unknown) =>
        error === undefined ? run(at + 1) : next(error);
      try {
        void step(request, response, go);
      } catch (error) {
        next(error);
      }
    };
    run(0);
  };
}
