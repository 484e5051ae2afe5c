import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { inTurn } from './in-turn.ts';

/** Runs middleware and returns what its `next` was called with. */
function run(...steps: RequestHandler[]): unknown[][] {
  const calls: unknown[][] = [];
  const next = ((...given: unknown[]) => void calls.push(given)) as NextFunction;
  void inTurn(...steps)({} as Request, {} as Response, next);
  return calls;
}

describe('inTurn', () => {
  it('runs all steps in their order and then passes the request on', () => {
    const ran: number[] = [];
    const step =
      (number: number): RequestHandler =>
      (_request, _response, next) => {
        ran.push(number);
        next();
      };
    expect(run(step(1), step(2), step(3))).toEqual([[]]);
    expect(ran).toEqual([1, 2, 3]);
  });

  it('runs no further step when one answers the request itself', () => {
    const further = () => {
      throw new Error('must not run');
    };
    expect(run(() => undefined, further)).toEqual([]);
  });

  it('passes on the error of a step and runs no further one', () => {
    const refusal = new Error('refused');
    const further = () => {
      throw new Error('must not run');
    };
    expect(run((_request, _response, next) => next(refusal), further)).toEqual([[refusal]]);
  });

  it('passes on what a step throws, also when an earlier step went on later', () => {
    const broken = new Error('broken');
    const waiting: NextFunction[] = [];
    const calls = run(
      (_request, _response, next) => void waiting.push(next),
      () => {
        throw broken;
      },
    );
    expect(calls).toEqual([]);
    waiting[0]?.();
    expect(calls).toEqual([[broken]]);
  });
});
