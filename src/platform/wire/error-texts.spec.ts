import { z } from 'zod';
import { unknownNamesError, useErrorTexts } from './error-texts.ts';
import { integerLike, metadataInput, unixSeconds } from './wire.schema.ts';

const text = (schema: z.ZodType, value: unknown): string[] =>
  schema.safeParse(value).error?.issues.map(({ message }) => message) ?? [];

describe('error texts of schemas without texts of their own', () => {
  beforeAll(useErrorTexts);
  afterAll(() => z.config({ customError: undefined }));

  it.each<[string, z.ZodType, unknown, string]>([
    ['a text that is too long', z.string().max(3), 'long', 'must not be longer than 3 characters'],
    ['an empty text', z.string().min(1), '', 'must not be empty'],
    ['a text that is too short', z.string().min(2), 'a', 'must have at least 2 characters'],
    [
      'a list that is too long',
      z.array(z.string()).max(1),
      ['a', 'b'],
      'must not have more than 1 entries',
    ],
    ['an empty list', z.array(z.string()).min(1), [], 'must not be empty'],
    ['a number that is too large', z.number().max(5), 6, 'must be at most 5'],
    ['a number that is too small', z.number().min(5), 4, 'must be at least 5'],
    ['a number at an exclusive limit', z.number().positive(), 0, 'must be greater than 0'],
    [
      'a key that is too long',
      metadataInput,
      { ['k'.repeat(41)]: 'x' },
      'keys must not be longer than 40 characters',
    ],
    ['an empty key', metadataInput, { '': 'x' }, 'must not be empty'],
    [
      'a value that is too long',
      metadataInput,
      { a: 'x'.repeat(501) },
      'values must not be longer than 500 characters',
    ],
    [
      'a value of the wrong type for a choice',
      z.union([z.string(), z.number()]),
      true,
      'must be text or a number',
    ],
    [
      'a choice out of range',
      z.union([z.literal(''), integerLike({ min: 1, max: 9 })]),
      10,
      'must be between 1 and 9',
    ],
    [
      'an unknown field',
      z.strictObject({ name: z.string().optional() }),
      { nam: 1 },
      'must not contain nam',
    ],
    [
      'an unknown field with known ones',
      z.strictObject({ name: z.string().optional() }, { error: unknownNamesError(['name']) }),
      { nam: 1 },
      'must not contain nam (did you mean name?); allowed: name',
    ],
  ])('say what is allowed instead of %s', (_, schema, value, expected) => {
    expect(text(schema, value)).toEqual([expected]);
  });

  it.each<[unknown, string]>([
    ['12345678901234567890', 'must be between 0 and 253402300799'],
    ['-12345678901234567890', 'must be between 0 and 253402300799'],
    [1e300, 'must be between 0 and 253402300799'],
    ['9'.repeat(400), 'must be between 0 and 253402300799'],
    [-1, 'must be between 0 and 253402300799'],
    [1.5, 'must be an integer'],
    ['1e9', 'must be an integer'],
    ['', 'must be an integer'],
    [NaN, 'must be an integer'],
  ])('name the range of a time for %p', (value, expected) => {
    expect(text(unixSeconds(), value)).toEqual([expected]);
  });

  it('show few and short names, which the client chooses', () => {
    const names = Array.from({ length: 1_000 }, (_each, index) => [
      `${index}${'x'.repeat(500)}`,
      1,
    ]);
    const [shown = ''] = text(z.strictObject({}), Object.fromEntries(names));
    expect(shown.length).toBeLessThan(250);
  });
});
