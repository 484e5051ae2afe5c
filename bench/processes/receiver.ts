import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from './serve.ts';

/** Receives webhook deliveries: reads each body to its end and answers 200. */
let received = 0;
const server = http.createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    received += 1;
    response.writeHead(200).end('ok');
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  serve((server.address() as AddressInfo).port, { received: () => received });
});
