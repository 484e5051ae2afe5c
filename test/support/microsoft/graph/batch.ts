import { stubRequest } from '../../remote-stub/messages.ts';
import {
  errorBody,
  GraphError,
  graphErrors,
  type Json,
  jsonBody,
  type StubAnswer,
  type StubRequest,
} from '../http/types.ts';
import type { StubSettings } from '../settings.ts';

interface Part {
  id: string;
  method: string;
  url: string;
  headers: Record<string, string>;
  body: unknown;
  dependsOn: string[];
}

interface PartAnswer {
  id: string;
  status: number;
  headers: Record<string, string>;
  body?: unknown;
}

/** Most requests in one batch. */
const MOST = 20;
/** How many requests of a batch Graph sends to Exchange at the same time. */
const AT_ONCE = 4;

/**
 * Answers `POST /v1.0/$batch`. The answers of the parts come in another order than the parts.
 * @param handle answers one part; null for a connection that was cut
 */
export async function answerBatch(
  request: StubRequest,
  settings: StubSettings,
  handle: (part: StubRequest) => Promise<StubAnswer | null>,
): Promise<StubAnswer> {
  let parts: Part[];
  try {
    parts = partsOf(request);
  } catch (error) {
    if (error instanceof GraphError) return error.answer();
    throw error;
  }
  const answers = new Map<string, PartAnswer>();
  let left = parts;
  while (left.length > 0) {
    const ready = left.filter(({ dependsOn }) => dependsOn.every((id) => answers.has(id)));
    if (ready.length === 0) return graphErrors.badRequest('Invalid dependsOn.').answer();
    left = left.filter((part) => !ready.includes(part));
    const size = settings.batch === 'queued' ? AT_ONCE : MOST;
    for (let at = 0; at < ready.length; at += size) {
      const now = ready.slice(at, at + size);
      const done = now.map((part) => answerPart(request, part, answers, handle));
      for (const answer of await Promise.all(done)) answers.set(answer.id, answer);
    }
  }
  return { status: 200, body: { responses: [...answers.values()].toReversed() } };
}

async function answerPart(
  { headers }: StubRequest,
  part: Part,
  earlier: Map<string, PartAnswer>,
  handle: (part: StubRequest) => Promise<StubAnswer | null>,
): Promise<PartAnswer> {
  const failed = part.dependsOn.some((id) => (earlier.get(id)?.status ?? 500) >= 400);
  if (failed) {
    const body = errorBody('FailedDependency', 'A request that this one depends on failed.');
    return { id: part.id, status: 424, headers: {}, body };
  }
  const own = Object.entries(part.headers).map(([name, value]) => [name.toLowerCase(), value]);
  const body = typeof part.body === 'string' ? part.body : JSON.stringify(part.body ?? '');
  const request = stubRequest(
    part.method,
    `/v1.0${part.url.startsWith('/') ? '' : '/'}${part.url}`,
    { authorization: headers.authorization, ...(Object.fromEntries(own) as Json) },
    Buffer.from(part.body === undefined ? '' : body),
  );
  const answer = await handle(request);
  return asPart(part.id, answer ?? { status: 504, raw: 'Gateway Timeout' });
}

function asPart(id: string, { status, headers = {}, body, raw }: StubAnswer): PartAnswer {
  const shown = raw === undefined ? body : Buffer.from(raw).toString('base64');
  const type: Record<string, string> =
    raw === undefined ? { 'content-type': 'application/json' } : {};
  return {
    id,
    status,
    headers: shown === undefined ? headers : { ...type, ...headers },
    ...(shown === undefined ? {} : { body: shown }),
  };
}

function partsOf(request: StubRequest): Part[] {
  const { requests } = jsonBody(request.body);
  if (!Array.isArray(requests) || requests.length === 0) {
    throw graphErrors.badRequest("The property 'requests' is required.");
  }
  if (requests.length > MOST) {
    throw graphErrors.badRequest(
      `Number of batch request steps exceeds the maximum value of ${MOST}.`,
    );
  }
  const parts = (requests as Json[]).map((part) => ({
    id: String(part['id']),
    method: String(part['method']).toUpperCase(),
    url: String(part['url']),
    headers: (part['headers'] ?? {}) as Record<string, string>,
    body: part['body'],
    dependsOn: (part['dependsOn'] ?? []) as string[],
  }));
  if (new Set(parts.map(({ id }) => id)).size < parts.length) {
    throw graphErrors.badRequest('The ids of the requests of a batch must differ.');
  }
  for (const { body, headers } of parts) {
    const typed = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
    if (body !== undefined && !typed) {
      throw graphErrors.badRequest("Write request with a body needs the header 'Content-Type'.");
    }
  }
  return parts;
}
