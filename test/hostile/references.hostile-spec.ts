import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Operation } from '../support/api-document.ts';
import { type AttackedOwners, startAttackedOwners } from '../support/attacked-owners.ts';
import { rowsOf } from '../support/connect.ts';
import { HOSTILE_IDS } from '../support/hostile.ts';
import { addressOf, type Belongings, credentialsOf, idIn } from '../support/hostile-world.ts';
import {
  NO_REFERENCES,
  type Owner,
  REFERENCE_TABLE,
  type ReferenceRow,
} from './support/reference-table.ts';

jest.setTimeout(300_000);

/** Body fields that may contain an id, by name. */
const LIKE_A_REFERENCE =
  /(ids?|cursor|calendars?|folder|labels?|groups?|message|event|token|provider|account|file|job)$/i;
/** Query parameters that may contain an id. `in` and `not_in` name folders. */
const LIKE_A_FILTER = /(ids?|cursor|^in|not_in|calendars?|group|token|provider)$/i;

describe('references to objects of another owner', () => {
  let world: AttackedOwners;
  let own: Owner;
  let neighbour: Owner;
  let stranger: Owner;
  beforeAll(async () => {
    world = await startAttackedOwners();
    own = await withMore(world.own);
    neighbour = await withMore(world.neighbour);
    stranger = await withMore(world.stranger);
  });
  afterAll(() => world.close());

  async function withMore(owner: Belongings): Promise<Owner> {
    const post = async <T>(path: string, body: object) => {
      const headers = { 'content-type': 'application/json', ...owner.account.bearer };
      const answer = await fetch(world.server.url + path, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      expect([path, answer.status]).toEqual([path, 200]);
      return (await answer.json()) as T;
    };
    const { cursor } = await post<{ cursor: string }>('/delta/latest_cursor', {});
    const path = `People of ${owner.account.id}`;
    const contact = { given_name: 'Cy', groups: [{ path }] };
    const { groups } = await post<{ groups: { id: string }[] }>('/contacts', contact);
    await rowsOf(world.server, 'update application set redirect_uris = $2 where id = $1', [
      owner.application.id,
      ['https://app.example.test/callback'],
    ]);
    return { ...owner, cursor, group: groups[0]?.id ?? '' };
  }

  const operationOf = ({ route }: ReferenceRow): Operation => {
    const operation = world.document.operations.find(({ name }) => name === route);
    if (!operation)
      throw new Error(
        `${route} in test/hostile/support/reference-table.ts is not a registered route`,
      );
    return operation;
  };
  const send = (row: ReferenceRow, other: Owner) => {
    const operation = operationOf(row);
    const content = row.with(other, own);
    const address = addressOf(operation, own, idIn(operation, own), 'cursor');
    const isQuery = row.field.startsWith('?');
    const query = isQuery
      ? `?${new URLSearchParams(content as Record<string, string>).toString()}`
      : '';
    const body = isQuery ? undefined : JSON.stringify(content);
    return world.adversary.send(
      operation.method,
      address + query,
      credentialsOf(operation, own),
      body,
    );
  };

  it('have a table row for every documented field that may contain an id', () => {
    const rows = new Set(REFERENCE_TABLE.map(({ route, field }) => `${route} ${field}`));
    const fields = world.document.operations.flatMap(({ name, body, queryParameters }) =>
      [
        ...[...world.document.namesOf(body ?? {})].filter((field) => LIKE_A_REFERENCE.test(field)),
        ...queryParameters.filter((field) => LIKE_A_FILTER.test(field)).map((field) => `?${field}`),
      ].map((field) => `${name} ${field}`),
    );
    expect(fields.length).toBeGreaterThan(80);
    const isNone = (field: string) => NO_REFERENCES.some(([pattern]) => pattern.test(field));
    expect(fields.filter((field) => !rows.has(field) && !isNone(field))).toEqual([]);
    expect([...rows].filter((row) => !fields.includes(row))).toEqual([]);
  });

  it.each(['account', 'application'] as const)(
    'reach nothing of another %s, and store nothing',
    async (whose) => {
      const other = whose === 'account' ? neighbour : stranger;
      const wrong: string[] = [];
      const before = await world.adversary.fingerprint();
      for (const row of REFERENCE_TABLE) {
        if (row.answer === 'ignored' || (row.sharedInApplication && whose === 'account')) continue;
        const { status, text } = await send(row, other);
        const isRight =
          row.answer === 'empty'
            ? status === 404 || (status === 200 && text === '[]')
            : status === 400 || status === 404;
        if (!isRight) wrong.push(`${row.route} ${row.field}: ${status} ${text.slice(0, 150)}`);
      }
      expect(wrong).toEqual([]);
      expect(await world.adversary.fingerprint()).toBe(before);
    },
  );

  it('get the same response as ids that do not exist', async () => {
    const nothing = HOSTILE_IDS['a random id'] ?? '';
    const wrong: string[] = [];
    for (const row of REFERENCE_TABLE.filter(({ answer }) => answer === 'refused')) {
      const field = row.field.split(/[.[]/)[0] ?? '';
      const ids = Object.values(row.with(stranger, own)).flat();
      const foreign = await send(row, stranger);
      const copy = Object.fromEntries(
        Object.entries(stranger).map(([name, value]) => [
          name,
          typeof value === 'string' && /^[0-9a-f-]{36}$/.test(value) ? nothing : value,
        ]),
      ) as unknown as Owner;
      const absent = await send(row, { ...copy, account: { ...stranger.account, id: nothing } });
      const plain = (text: string) => text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID');
      if (foreign.status !== absent.status || plain(foreign.text) !== plain(absent.text))
        wrong.push(
          `${row.route} ${field} ${ids.length}: ${foreign.text.slice(0, 120)} | ${absent.text.slice(0, 120)}`,
        );
    }
    expect(wrong).toEqual([]);
  });

  it('never bring data of the other account into a response', async () => {
    const wrong: string[] = [];
    for (const row of REFERENCE_TABLE.filter(({ answer }) => answer === 'ignored')) {
      for (const other of [neighbour, stranger]) {
        const { status, text } = await send(row, other);
        const named = Object.values(row.with(other, own)).flat();
        const seen = [
          other.message,
          other.file,
          other.event,
          other.draft,
          other.account.email,
        ].filter((id) => !named.includes(id) && text.includes(id));
        if (status >= 500 || seen.length > 0)
          wrong.push(`${row.route} ${row.field}: ${status} ${seen.join()}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});
