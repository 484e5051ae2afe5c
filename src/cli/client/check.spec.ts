import fs from 'node:fs';
import { assertKnown } from './check.ts';

interface Body {
  content: Record<string, { schema?: { $ref?: string } }>;
}
interface Document {
  paths: Record<string, Record<string, { requestBody?: Body }>>;
  components: { schemas: Record<string, { example?: object }> };
}

const { paths, components } = JSON.parse(fs.readFileSync('openapi.json', 'utf8')) as Document;

const examples = Object.entries(paths).flatMap(([path, item]) =>
  Object.entries(item).flatMap(([verb, { requestBody }]): [string, string, object][] => {
    const reference = requestBody?.content['application/json']?.schema?.$ref;
    const example = components.schemas[reference?.split('/').at(-1) ?? '']?.example;
    return example ? [[verb, path, example]] : [];
  }),
);

describe('assertKnown', () => {
  it('knows examples of most request bodies', () => {
    expect(examples.length).toBeGreaterThan(50);
  });

  it.each(examples)(
    'accepts the example of %s %s, and refuses another field in it',
    (verb, path, example) => {
      const request = { verb, path, query: [] };
      assertKnown({ ...request, body: JSON.stringify(example) });
      const wrong = JSON.stringify({ ...example, no_such_field: 1 });
      expect(() => assertKnown({ ...request, body: wrong })).toThrow(
        /Unknown field of the body: no_such_field/,
      );
    },
  );

  it.each([
    [{ to: [{ email: 'a@b.test', nme: 'A' }] }, 'to.nme; did you mean to.name?'],
    [{ tracking: { linkss: true } }, 'tracking.linkss; did you mean tracking.links?'],
  ])('finds the unknown field in %j', (body, text) => {
    const request = { verb: 'POST', path: '/v2/outbox', query: [], body: JSON.stringify(body) };
    expect(() => assertKnown(request)).toThrow(text);
  });

  it.each([{ metadata: { any: 'thing' } }, { to: null }, [], 'text', 7, null])(
    'leaves %j to the server, which refuses what has the wrong type',
    (body) => {
      const request = { verb: 'POST', path: '/v2/outbox', query: [], body: JSON.stringify(body) };
      expect(() => assertKnown(request)).not.toThrow();
    },
  );

  it('leaves endpoints that the document does not have to the server', () => {
    const request = { verb: 'GET', path: '/newer', query: ['any'] };
    expect(() => assertKnown(request)).not.toThrow();
  });

  it('does not depend on the names of placeholders in paths', () => {
    const request = { verb: 'DELETE', path: '/events/{any}', query: ['notify_participant'] };
    expect(() => assertKnown(request)).toThrow('did you mean notify_participants?');
  });
});
