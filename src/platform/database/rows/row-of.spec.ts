import { defineEntity, p } from '@mikro-orm/core';
import type { NotNull, OrNull, RowOf } from './row-of.ts';

const OwnerSchema = defineEntity({ name: 'Owner', properties: { id: p.uuid().primary() } });
class Owner extends OwnerSchema.class {}

const ThingSchema = defineEntity({
  name: 'Thing',
  properties: {
    id: p.uuid().primary(),
    owner: () => p.manyToOne(Owner).ref(),
    place: () => p.manyToOne(Owner).nullable(),
    state: p.enum(['new', 'old'] as const),
    note: p.text().nullable(),
    size: p.bigint(),
    ratio: p.double(),
    hash: p.blob(),
    details: p.json<{ colour: string }>(),
    paused: p.boolean().default(false),
  },
});
class Thing extends ThingSchema.class {}

// The compiler checks these types (`npm run check:types`); Jest only runs them.
describe('RowOf', () => {
  it('has each column with the type that statements return', () => {
    const row = {
      id: '1',
      ownerId: '2',
      placeId: null,
      state: 'new',
      note: null,
      size: 1,
      ratio: 0.5,
      hash: Buffer.of(1),
      details: { colour: 'red' },
      paused: false,
    } satisfies RowOf<Thing>;
    expect(Object.keys(row)).toHaveLength(10);
  });

  it('has only the named columns, and no column that the table does not have', () => {
    const named: RowOf<Thing, 'id' | 'size'> = { id: '1', size: 1 };
    // @ts-expect-error -- misspelt
    const misspelt: RowOf<Thing, 'siez'> = {};
    // @ts-expect-error -- the relation has the name of its key
    const relation: RowOf<Thing, 'owner'> = {};
    expect([named, misspelt, relation]).toHaveLength(3);
  });

  it('may lose or get null by a condition or a left join', () => {
    const present: NotNull<RowOf<Thing, 'note'>> = { note: 'text' };
    // @ts-expect-error -- the condition keeps it from being null
    const absent: NotNull<RowOf<Thing, 'note'>> = { note: null };
    const joined: OrNull<RowOf<Thing, 'size'>> = { size: null };
    expect([present, absent, joined]).toHaveLength(3);
  });
});
