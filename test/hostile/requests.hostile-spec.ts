import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { Adversary } from '../support/adversary.ts';
import { ApiDocument, type Operation } from '../support/api-document.ts';
import { HOSTILE_IDS } from '../support/hostile.ts';
import {
  addressOf,
  type Belongings,
  bodyOf,
  createBelongings,
  credentialsOf,
  idIn,
} from '../support/hostile-world.ts';
import { SendGridServer } from '../support/sendgrid-server.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { sized } from '../support/sized.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { fuzzSettings } from './support/fuzz-settings.ts';
import { type HostileRequest, hostileRequests } from './support/hostile-requests.ts';
import { ROUTE_TABLE } from './support/route-table.ts';
import { HIGHEST_RSS_MB, LONGEST_ANSWER_MS, watch } from './support/watch.ts';

const { seed, factor } = fuzzSettings();
// A limit in case a test hangs.
jest.setTimeout(sized(180_000, 600_000) * factor);

/** Requests to each route. */
const RUNS = sized(5, 10);
/** The longest time for one request, on two cores that run other tests too. */
const MOST_MS = 5_000;
/** Routes that wait for changes. The test gives up waiting after WAIT_MS. */
const WAITING = /^\/delta\/(longpoll|streaming)$|^\/a\/[^/]+\/events(\/streaming)?$/;
const WAIT_MS = 300;

describe(`random requests (seed ${seed})`, () => {
  let seeds: TestApp;
  let server: ServerProcess;
  let document: ApiDocument;
  let service: SendGridServer;
  let own: Belongings;
  let adversary: Adversary;

  beforeAll(async () => {
    const environment = {
      ROLES: 'api',
      NEURAL: 'true',
      ENCRYPTION_KEYS: `k:${randomBytes(32).toString('base64')}`,
    };
    seeds = await startTestApp(environment);
    service = await SendGridServer.start();
    own = await createBelongings(seeds, service.origin);
    document = await ApiDocument.of(seeds.url);
    server = await startServerProcess({
      ...environment,
      DATABASE_URL: seeds.database.url,
      EGRESS_ALLOW: '127.0.0.0/8',
      RATE_LIMIT_CONCURRENT: '0',
    });
    adversary = new Adversary(seeds, own, () => Promise.resolve(''), [own]);
  });
  afterAll(async () => {
    await server?.stop();
    await seeds.close();
    await service.stop();
  });

  async function send(operation: Operation, request: HostileRequest): Promise<string[]> {
    const { method, path } = operation;
    const known = method === 'DELETE' ? HOSTILE_IDS['a random id'] : idIn(operation, own);
    const address = addressOf(operation, own, request.id ?? known);
    const query =
      request.query === '' ? '' : `${address.includes('?') ? '&' : '?'}${request.query}`;
    const limit = WAITING.test(path) ? WAIT_MS : MOST_MS;
    try {
      const response = await fetch(server.url + address + query, {
        method,
        headers: {
          'content-type': 'application/json',
          ...request.headers,
          ...credentialsOf(operation, own),
        },
        body: method === 'GET' ? null : (request.body ?? null),
        signal: AbortSignal.timeout(limit),
        redirect: 'manual',
      });
      const { status, headers } = response;
      return faultsOf({ status, headers, text: await response.text() }, path);
    } catch (error) {
      const isSlow = error instanceof DOMException && error.name === 'TimeoutError';
      if (isSlow && WAITING.test(path)) return [];
      return [
        isSlow ? `no response within ${MOST_MS} ms` : String((error as Error).cause ?? error),
      ];
    }
  }

  const faultsOf = (answer: Parameters<Adversary['faultsOf']>[0], path: string): string[] => {
    const isPage = answer.headers.get('content-type')?.startsWith('application/json') !== true;
    // Pages have no JSON body, and neither do requests refused before they reach the program.
    if (isPage) return answer.status >= 500 ? [`a server error: ${answer.status}`] : [];
    // The documentation allows 503 with Retry-After while a service is not available.
    if (answer.status === 503 && answer.headers.get('retry-after')) return [];
    // Node's parser refuses a request that is too long before its path is known, so the error has
    // the shape of most paths.
    return adversary.faultsOf(answer, answer.status === 431 ? '/' : path);
  };

  /** Routes that the documentation leaves out: pages and addresses that contain a key. */
  const undocumented = (): Operation[] => {
    const known = new Set(document.operations.map(({ name }) => name));
    return Object.keys(ROUTE_TABLE)
      .filter(
        (name) => !known.has(name) && !/\/(docs|openapi|connect\/login\/(icon|sign-in))/.test(name),
      )
      .map((name) => {
        const [method = '', path = ''] = name.split(' ');
        const pathParameters = path.includes('{') ? ['id'] : [];
        const queryParameters = [
          'id',
          'k',
          'provider',
          'state',
          'code',
          'error',
          'm',
          'l',
          's',
          't',
        ];
        return {
          name,
          method,
          path,
          pathParameters,
          queryParameters,
          security: [],
          body: undefined,
        };
      });
  };

  it('get a timely response from every route, without a server error and in the documented shape', async () => {
    const stop = watch(server.pid, [
      { name: 'live', url: `${server.url}/health/live` },
      { name: 'messages', url: `${server.url}/messages?limit=1`, headers: own.account.bearer },
    ]);
    const found: Record<string, string> = {};
    const operations = [...document.operations, ...undocumented()];
    for (const operation of operations) {
      const good = bodyOf(document, operation, own);
      const property = fc.asyncProperty(
        hostileRequests(document, operation, good),
        async (request) => {
          const faults = await send(operation, request);
          if (faults.length > 0) throw new Error(faults.join('; '));
        },
      );
      const result = await fc.check(property, { seed, numRuns: RUNS * factor, endOnFailure: true });
      if (result.failed) {
        const example = JSON.stringify(result.counterexample?.[0])?.slice(0, 600);
        found[operation.name] = `${String(result.errorInstance)} for ${example}`;
      }
    }
    const watched = await stop();
    expect(found).toEqual({});
    // A request to the application may have cancelled the account itself.
    expect(watched.failures.filter((failure) => !/: 40[13]$/.test(failure))).toEqual([]);
    expect(watched.longestMs).toBeLessThan(LONGEST_ANSWER_MS);
    expect(watched.highestRssMb).toBeLessThan(HIGHEST_RSS_MB);
  });
});
