import { z } from 'zod';
import { bodyShape, tolerate, unknownFields } from './body-fields.ts';

const place = z.object({ street: z.string(), city: z.string().optional() });

/** Paths of the fields of a body that a schema does not know. */
function unknown(schema: z.ZodType, body: object, tolerated: string[] = [], most = 10): string[] {
  const shape = bodyShape(schema);
  for (const path of tolerated) tolerate(shape, path.split('.'));
  return shape
    ? unknownFields(body, shape, most).map((field) => [...field.place, field.name].join('.'))
    : [];
}

describe('unknownFields', () => {
  it.each<[string, z.ZodType]>([
    ['an object', place],
    ['a strict object', z.strictObject(place.shape)],
    ['a loose object', z.looseObject(place.shape)],
    ['an object that may be null or absent', place.nullish()],
    ['a transformed object', place.transform(({ street }) => street)],
    ['a refined object', place.refine(() => true)],
    ['a preprocessed object', z.preprocess((value) => value, place)],
    ['an object or a text', z.union([z.string(), place])],
    [
      'one of two objects',
      z.union([z.object({ city: z.string() }), z.object({ street: z.string() })]),
    ],
  ])('finds unknown fields of %s, at the top and below', (_, schema) => {
    expect(unknown(schema, { street: 'A', citty: 'B' })).toEqual(['citty']);
    const list = z.object({ places: z.array(schema).optional() });
    expect(unknown(list, { places: [{ street: 'A' }, { strete: 'B' }], x: 1 })).toEqual([
      'places.1.strete',
      'x',
    ]);
  });

  it('chooses the fields of a discriminated choice by the value of its field', () => {
    const schema = z.object({
      way: z.discriminatedUnion('type', [
        z.object({ type: z.literal('mail'), subject: z.string() }),
        z.object({ type: z.literal('sms'), text: z.string() }),
      ]),
    });
    expect(unknown(schema, { way: { type: 'mail', subject: 'A', text: 'B' } })).toEqual([
      'way.text',
    ]);
    expect(unknown(schema, { way: { type: 'sms', text: 'B' } })).toEqual([]);
    expect(unknown(schema, { way: { type: 'fax', text: 'B' } })).toEqual([]);
  });

  it('knows every name where the client chooses the keys', () => {
    const free = z.record(z.string(), z.unknown());
    const schema = z.object({ metadata: free, any: z.unknown(), one: z.union([z.string(), free]) });
    const value = { a: { b: 1 } };
    expect(unknown(schema, { metadata: value, any: value, one: value })).toEqual([]);
  });

  it('knows the names of an object that may also be empty, as a record', () => {
    const schema = z.object({ folder: z.union([place, z.record(z.string(), z.null())]) });
    expect(unknown(schema, { folder: { city: 'x', nmae: 'x' } })).toContain('folder.nmae');
  });

  it('leaves values of a wrong type to the validation', () => {
    const schema = z.object({ place, places: z.array(place) });
    for (const value of [null, 'x', 1, ['x'], [['y']]])
      expect(unknown(schema, { place: value, places: value })).toEqual([]);
    expect(unknown(schema, { places: { x: 1 } })).toEqual([]);
  });

  it('finds names that the prototype of objects has', () => {
    const body = JSON.parse('{"__proto__": 1, "constructor": 1, "toString": 1}') as object;
    expect(unknown(place, body)).toEqual(['__proto__', 'constructor', 'toString']);
  });

  it('finds a field of many entries once, and no more fields than asked for', () => {
    const schema = z.object({ places: z.array(place) });
    const places = Array.from({ length: 1000 }, (_, index) => ({ x: 1, [`y${index}`]: 1 }));
    expect(unknown(schema, { places }, [], 3)).toEqual([
      'places.0.x',
      'places.0.y0',
      'places.1.y1',
    ]);
  });

  it('does not find tolerated fields, which are tolerated in their place only', () => {
    const schema = z.object({ places: z.array(place).nullish() });
    const body = { id: 1, places: [{ id: 1, object: 'x' }] };
    expect(unknown(schema, body, ['id'])).toEqual(['places.0.id', 'places.0.object']);
    expect(unknown(schema, body, ['places.id', 'places.object'])).toEqual(['id']);
  });

  it('names the known fields of the place', () => {
    const shape = bodyShape(z.object({ place }));
    expect(shape && unknownFields({ place: { x: 1 } }, shape, 1)).toMatchObject([
      { known: ['street', 'city'] },
    ]);
  });
});
