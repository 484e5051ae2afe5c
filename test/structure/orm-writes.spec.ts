import { type Entity, entitiesIn, ormWritesIn } from './orm-writes.ts';

const ENTITIES: Record<string, Entity[]> = {
  'src/a/event.entity.ts': [{ name: 'Event', table: 'event' }],
  'src/b/grant.entity.ts': [{ name: 'Grant', table: 'grant' }],
};
const IMPORTS = `
  import type { Event } from '../a/event.entity.ts';
  import { Grant } from '../b/grant.entity.ts';
  import { other } from './other.ts';
`;
const writes = (code: string, imports = IMPORTS) =>
  ormWritesIn('src/c/file.ts', imports + code, (file) => ENTITIES[file] ?? []);

describe('ormWritesIn', () => {
  it.each([
    ['creates', 'em.create(Grant, { id });'],
    ['inserts', 'await this.em.insert(Grant, { id });'],
    ['upserts', 'await em.upsertMany(Grant, rows);'],
    ['updates rows', 'await em.fork().nativeUpdate(Grant, { id }, { name });'],
    ['deletes rows', 'await this.database.em.nativeDelete(Grant, { id });'],
    ['builds a statement', 'await em.createQueryBuilder(Grant).delete();'],
    ['names its entity manager otherwise', 'const f = (m: EntityManager) => m.create(Grant, {});'],
  ])('finds the table of the class when a file %s', (_what, code) => {
    expect(writes(code)).toEqual(['grant']);
  });

  it.each([
    ['a parameter with a type', 'function f(one: Event) { em.assign(one, { title }); }'],
    ['a loaded variable', 'const one = ok ? await em.findOne(Event, id) : null; em.remove(one);'],
    ['an object loaded in place', 'em.remove(em.getReference(Event, id));'],
    ['a variable named like an imported class', 'const { event } = locked; em.persist(event);'],
  ])('finds the table of an entity that is given as %s', (_what, code) => {
    expect(writes(code)).toEqual(['event']);
  });

  it.each([
    'event.sequence += 1;',
    'event.sequence++;',
    "event.title = 'new';",
    'delete event.title;',
  ])('finds the assignment %s to an entity', (assignment) => {
    expect(writes(`function f(event: Event) { ${assignment} }`)).toEqual(['event']);
  });

  it('takes every imported entity for an object that could be any of them', () => {
    expect(writes('em.persist(one);')).toEqual(['event', 'grant']);
  });

  it('reports a write of an unknown table when the file imports no entity', () => {
    expect(writes('em.persist(one);', '')).toEqual(['(unknown)']);
  });

  it('leaves out reads, references, and objects that are no entities', () => {
    expect(
      writes(
        'await em.find(Grant, {}); em.getReference(Grant, id); await em.flush(); files.remove(one); Object.create(Grant); row.title = 1;',
      ),
    ).toEqual([]);
  });
});

describe('entitiesIn', () => {
  it('reads the class and the table of each entity of a file', () => {
    const content = `const XSchema = defineEntity({ name: 'X', tableName: 'x_row', properties: {} });
      export class X extends XSchema.class {}`;
    expect(entitiesIn(content)).toEqual([{ name: 'X', table: 'x_row' }]);
  });
});
