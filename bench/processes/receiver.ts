import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from './serve.ts';

/** Receives webhook deliveries: reads each body to its end, counts its deltas and answers 200. */
const DELTA = '{"date":';
let received = 0;
const server = http.createServer((request, response) => {
  let body = '';
  request.setEncoding('latin1').on('data', (chunk: string) => (body += chunk));
  request.once('end', () => {
    received += body.split(DELTA).length - 1;
    response.writeHead(200).end('ok');
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  serve((server.address() as AddressInfo).port, { received: () => received });
});
