import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestHandler } from 'express';

/** Requests of one connection that wait for the answers before them. No common client sends more than one ahead. */
const MOST_WAITING = 100;

interface Line {
  last: ServerResponse;
  waiting: number;
}

/**
 * Handles the requests of a connection one after the other. Node hands over all those that have arrived together: thousands of
 * small ones in a row would keep everybody else waiting for seconds. Whoever sends more than a hundred ahead is cut off.
 */
export function oneAtATime(): RequestHandler {
  const lines = new WeakMap<Socket, Line>();
  return (request, response, next) => {
    const { socket } = request;
    const line = lines.get(socket);
    if (!line || line.last.writableFinished || line.last.closed) {
      lines.set(socket, { last: response, waiting: 0 });
      return next();
    }
    if (line.waiting >= MOST_WAITING) return void socket.destroy();
    const before = line.last;
    line.last = response;
    line.waiting += 1;
    before.once('close', () => {
      line.waiting -= 1;
      // Nobody waits for the answer any more.
      if (!socket.destroyed) next();
    });
  };
}
