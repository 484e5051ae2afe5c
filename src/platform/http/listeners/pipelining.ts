import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestHandler } from 'express';

/**
 * Requests on one connection that wait for earlier responses. No common client sends more than one
 * ahead.
 */
const MOST_WAITING = 100;

interface Queue {
  last: ServerResponse;
  waiting: number;
}

/**
 * Handles the requests of one connection one at a time. Node passes on all requests that arrived
 * together: thousands of small ones in a row would block all other clients for seconds. A
 * connection with more than a hundred waiting requests is closed.
 */
export function oneAtATime(): RequestHandler {
  const queues = new WeakMap<Socket, Queue>();
  return (request, response, next) => {
    const { socket } = request;
    const queue = queues.get(socket);
    if (!queue || queue.last.writableFinished || queue.last.closed) {
      queues.set(socket, { last: response, waiting: 0 });
      return next();
    }
    if (queue.waiting >= MOST_WAITING) return void socket.destroy();
    const before = queue.last;
    queue.last = response;
    queue.waiting += 1;
    before.once('close', () => {
      queue.waiting -= 1;
      // Skip the request if the client has closed the connection.
      if (!socket.destroyed) next();
    });
  };
}
