import { placeNullable, type Schema } from './schemas.ts';

describe('placeNullable', () => {
  const placed = (schema: Schema): Schema => {
    placeNullable({ Size: { type: 'integer' } }, schema);
    return schema;
  };

  it('moves nullable from a choice to its first part with a type', () => {
    expect(placed({ anyOf: [{ type: 'number' }, { type: 'string' }], nullable: true })).toEqual({
      anyOf: [{ type: 'number', nullable: true }, { type: 'string' }],
    });
  });

  it('gives a named schema that may be null the type of what it names', () => {
    const schema = { allOf: [{ $ref: '#/components/schemas/Size' }], nullable: true };
    expect(placed(schema)).toEqual({ ...schema, type: 'integer' });
  });

  it('wraps a named choice, because a reference has no keys of its own', () => {
    const reference = { $ref: '#/components/schemas/Size' };
    expect(placed({ anyOf: [reference], nullable: true })).toEqual({
      anyOf: [{ allOf: [reference], nullable: true, type: 'integer' }],
    });
  });

  it('adds null to the values of a schema that may be null', () => {
    expect(placed({ type: 'string', enum: ['a'], nullable: true }).enum).toEqual(['a', null]);
    expect(placed({ type: 'string', enum: ['a'] }).enum).toEqual(['a']);
  });
});
