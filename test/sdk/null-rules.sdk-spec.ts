import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { GO_MODELS } from './support/go-models.ts';
import { JAVA_MODELS } from './support/java-models.ts';
import { PYTHON_MODELS } from './support/python-models.ts';
import { readRecorded } from './support/recorded-client.ts';
import { RUBY_MODELS } from './support/ruby-models.ts';

/** `test/sdk/recorded/README.md` describes it. */
const recorded = z
  .strictObject({
    /** An answer of each model. */
    samples: z.record(z.string(), z.unknown()),
    /** By client and model: where the client crashes if the sample has `null` there. */
    refused: z.record(z.string(), z.record(z.string(), z.array(z.string()))),
  })
  .parse(readRecorded('nulls/answers'));

const capital = (name: string): string => `${name[0]?.toUpperCase()}${name.slice(1)}`;
const CLIENTS: Record<string, Record<string, z.ZodType>> = {
  python: PYTHON_MODELS,
  ruby: RUBY_MODELS,
  java: JAVA_MODELS,
  go: GO_MODELS,
};

function modelOf(client: string, name: string): z.ZodType {
  const models = CLIENTS[client] ?? {};
  const model = models[name] ?? models[capital(name)];
  if (!model) throw new Error(`${client} has no model ${name}`);
  return model;
}

/** A copy that has `null` at a path of keys and indexes. */
function withNull(value: unknown, path: string): unknown {
  const copy = structuredClone(value);
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let parent = copy as Record<string, unknown>;
  for (const key of keys) parent = parent[key] as Record<string, unknown>;
  expect(parent).toHaveProperty([last]);
  parent[last] = null;
  return copy;
}

/** A server that answers a null where a client crashes must fail the suite of that client. */
describe('the rules of reading', () => {
  const cases = Object.entries(recorded.refused).flatMap(([client, models]) =>
    Object.entries(models).map(([name, paths]) => ({ client, name, paths })),
  );

  it.each(cases)('of $client refuse a null in $name wherever the client crashes', (one) => {
    const model = modelOf(one.client, one.name);
    const sample = recorded.samples[one.name];
    expect(model.safeParse(sample).error).toBeUndefined();
    const read = one.paths.filter((path) => model.safeParse(withNull(sample, path)).success);
    expect(read).toEqual([]);
  });
});
