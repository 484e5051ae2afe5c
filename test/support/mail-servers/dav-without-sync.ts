import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type DavServer, startRadicale } from './dav.ts';

/**
 * Radicale behind a proxy that refuses the sync-collection report (RFC 6578), as older servers do.
 */
export async function startRadicaleWithoutSync(): Promise<DavServer> {
  const radicale = await startRadicale();
  const target = new URL(radicale.url);
  const proxy = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      if (request.method === 'REPORT' && body.includes('sync-collection')) {
        response
          .writeHead(403, { 'content-type': 'text/xml' })
          .end('<error xmlns="DAV:"><supported-report/></error>');
        return;
      }
      const { method, url: path, headers } = request;
      const options = { host: target.hostname, port: target.port, method, path, headers };
      const forwarded = http.request(options, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      forwarded.on('error', () => response.destroy());
      forwarded.end(body);
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    addUser: (user, password) => radicale.addUser(user, password),
    stop: async () => {
      proxy.closeAllConnections();
      proxy.close();
      await radicale.stop();
    },
  };
}
