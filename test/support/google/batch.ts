import { type StubAnswer, stubRequest, type StubRequest } from '../remote-stub/messages.ts';
import { invalid } from './errors.ts';
import { pieces } from './gmail/mime.ts';

const MOST_PARTS = 100;

/** One request of a batch. */
export interface BatchPart {
  contentId: string | null;
  request: StubRequest;
}

/** True for the addresses of batches. */
export function isBatch({ method, path }: StubRequest): boolean {
  return method === 'POST' && /^\/batch(\/|$)/.test(path);
}

/** Reads the requests of a batch. They inherit the authorization of the batch. */
export function batchParts({ headers, body }: StubRequest): BatchPart[] {
  const type = headers['content-type'] ?? '';
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;\s]+))/.exec(type) ?? [];
  const boundary = quoted ?? plain;
  if (!type.startsWith('multipart/mixed') || !boundary)
    throw invalid('Failed to parse batch request: Content-Type header is not multipart/mixed.');
  const parts = pieces(body.toString('latin1'), boundary);
  if (parts.length === 0)
    throw invalid('Failed to parse batch request, error: 0 items.', 'badRequest');
  if (parts.length > MOST_PARTS) throw invalid('The batch request has too many items.');
  return parts.map((text) => batchPart(text, headers.authorization));
}

function batchPart(text: string, authorization: string | undefined): BatchPart {
  const [outer = '', line = '', inner = '', content = ''] =
    /^([\s\S]*?)\r?\n\r?\n([^\r\n]+)(?:\r?\n([\s\S]*?))?(?:\r?\n\r?\n([\s\S]*))?$/
      .exec(text)
      ?.slice(1) ?? [];
  const [method = 'GET', url = '/'] = line.split(' ');
  const headers = { ...(authorization && { authorization }), ...fields(inner) };
  const request = stubRequest(method, url, headers, Buffer.from(content, 'latin1'));
  return { contentId: fields(outer)['content-id'] ?? null, request };
}

function fields(head: string): Record<string, string> {
  const pairs = head.split(/\r?\n/).flatMap((line) => {
    const [, name, value] = /^([^:]+):\s*(.*)$/.exec(line) ?? [];
    return name && value !== undefined ? [[name.toLowerCase(), value] as const] : [];
  });
  return Object.fromEntries(pairs);
}

/** Puts the answers of a batch together, in the order of its requests. */
export function batchAnswer(
  answers: readonly { contentId: string | null; answer: StubAnswer }[],
): StubAnswer {
  const boundary = 'batch_stub_answer';
  const parts = answers.map(({ contentId, answer }) => {
    const id = contentId?.replace(/^<?/, '<response-').replace(/>?$/, '>');
    const { status, headers = {}, body, raw } = answer;
    const content = raw?.toString() ?? (body === undefined ? '' : JSON.stringify(body));
    const lines = Object.entries({ 'Content-Type': 'application/json; charset=UTF-8', ...headers });
    return [
      `--${boundary}`,
      'Content-Type: application/http',
      ...(id ? [`Content-ID: ${id}`] : []),
      '',
      `HTTP/1.1 ${status} ${status < 400 ? 'OK' : 'Error'}`,
      ...lines.map(([name, value]) => `${name}: ${value}`),
      '',
      content,
    ].join('\r\n');
  });
  return {
    status: 200,
    headers: { 'content-type': `multipart/mixed; boundary=${boundary}` },
    raw: `${parts.join('\r\n')}\r\n--${boundary}--\r\n`,
  };
}
