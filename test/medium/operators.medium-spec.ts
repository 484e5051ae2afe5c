import { SYSTEM } from '../../src/platform/audit/actor.ts';
import { hashPassword, isPassword } from '../../src/operator/access/password-hash.ts';
import { OperatorCredentials } from '../../src/operator/access/operator-credentials.ts';
import { OperatorLinksService } from '../../src/operator/access/operator-links.service.ts';
import { OperatorSessionsService } from '../../src/operator/access/sessions/operator-sessions.service.ts';
import { OperatorTokensService } from '../../src/operator/access/operator-tokens.service.ts';
import { OperatorsService } from '../../src/operator/access/operators.service.ts';
import { pruneOperatorSessions } from '../../src/operator/access/sessions/prune-operator-sessions.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { rowsOf } from '../support/connect.ts';
import { TestClock } from '../support/test-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const PASSWORD = 'correct horse battery';
const MINUTE = 60_000;
/** Statements that wait for a lock of another transaction. */
const WAITING = `
  select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;

describe('operators', () => {
  let server: TestApp;
  let clock: TestClock;
  let operators: OperatorsService;
  let sessions: OperatorSessionsService;
  let credentials: OperatorCredentials;
  let made = 0;

  beforeAll(async () => {
    clock = new TestClock();
    server = await startTestApp({ ROLES: 'api', RATE_LIMIT_FAILURES: '200' }, { clock });
    operators = server.app.get(OperatorsService);
    sessions = server.app.get(OperatorSessionsService);
    credentials = server.app.get(OperatorCredentials);
  });
  afterAll(() => server.close());

  const browser = (presented = '') => ({ address: `198.51.100.${(made += 1)}`, presented });
  const create = async (password: string | null = null) => {
    const name = `person-${(made += 1)}`;
    const id = await operators.create(SYSTEM, { name, role: 'operate', password });
    return { id, name };
  };
  const signedIn = async (name: string, presented = '') => {
    const { url } = await server.app.get(OperatorLinksService).create(SYSTEM, name);
    const secret = new URL(url).searchParams.get('secret') ?? '';
    return { link: secret, ...(await sessions.signInByLink(secret, browser(presented), 'visit')) };
  };
  const isAlive = async (secret: string) => (await credentials.bySession(secret)) !== undefined;

  it('stores a password as scrypt with a salt of its own, and accepts only that password', async () => {
    const stored = await hashPassword('Müller und Söhne');
    expect(stored).toMatch(/^scrypt\$32768\$8\$3\$[\w-]{22}\$[\w-]{43}$/);
    expect(await isPassword('Mu\u0308ller und So\u0308hne', stored)).toBe(true);
    expect(await isPassword('Muller und Sohne', stored)).toBe(false);
  });

  it('sign in by name and password, and nobody learns which of them was wrong', async () => {
    const { name } = await create(PASSWORD);
    const session = await sessions.signInByPassword(` ${name.toUpperCase()} `, PASSWORD, browser());
    expect(await credentials.bySession(session.secret)).toMatchObject({ name, role: 'operate' });
    const without = await create();
    const refusal = 'The name or the password is wrong.';
    for (const [who, password] of [
      [name, 'wrong'],
      ['nobody', PASSWORD],
      [without.name, ''],
    ] as const)
      await expect(sessions.signInByPassword(who, password, browser())).rejects.toThrow(refusal);
    const stored = await rowsOf(server, 'select hash from operator_session');
    expect(JSON.stringify(stored)).not.toContain(session.secret);
  });

  it('get no session for a password that was changed, removed or disabled while it was checked', async () => {
    const changes = [
      (name: string) => operators.setPassword(SYSTEM, name, 'another horse battery'),
      (name: string) => operators.setPassword(SYSTEM, name, null),
      (name: string) => operators.disable(SYSTEM, name),
      (name: string) => operators.remove(SYSTEM, name),
    ];
    for (const change of changes) {
      const { name } = await create(PASSWORD);
      const proof = await sessions.prove(name, PASSWORD, browser());
      await change(name);
      await expect(sessions.signInProven(proof, browser())).rejects.toThrow('password is wrong');
      const [left] = await rowsOf(server, 'select 1 from operator_session where operator_id = $1', [
        proof.id,
      ]);
      expect(left).toBeUndefined();
    }
  });

  it('sign in by one password several times at once', async () => {
    const { name } = await create(PASSWORD);
    const proof = await sessions.prove(name, PASSWORD, browser());
    const all = await Promise.all([1, 2, 3, 4].map(() => sessions.signInProven(proof, browser())));
    for (const { secret } of all) expect(await isAlive(secret)).toBe(true);
  });

  it('cannot choose a password of their own after somebody has reset it', async () => {
    const { id, name } = await create(PASSWORD);
    const { secret } = await signedIn(name);
    const sessionId = (await credentials.bySession(secret))?.sessionId ?? null;
    const actor = { kind: 'operator', id, name, address: null } as const;
    const choose = (password: string) =>
      operators.setOwnPassword(actor, { name, sessionId, password });
    await operators.setPassword(SYSTEM, name, null);
    await expect(choose(PASSWORD)).rejects.toMatchObject({ kind: 'unauthorized' });
    expect(await operators.get(id)).toMatchObject({ hasPassword: false });
  });

  it('are refused with 429 after ten wrong passwords for one name from one address', async () => {
    const { name } = await create();
    const attacker = browser();
    await expect(sessions.signInByPassword(name, 'guess', attacker)).rejects.toThrow('wrong');
    // Nine more attempts, without their scrypt.
    await rowsOf(server, 'update failed_attempt set failures = failures + 9 where ends_at > $1', [
      clock.now(),
    ]);
    await expect(sessions.signInByPassword(name, 'guess', attacker)).rejects.toMatchObject({
      kind: 'rate-limited',
      message: 'Too many failed attempts for this account: try again in 15 minutes',
    });
    // Another client is not locked out.
    await expect(sessions.signInByPassword(name, 'guess', browser())).rejects.toThrow('wrong');
  });

  it('sign in by a link once, within an hour', async () => {
    const { name } = await create();
    const { link, secret } = await signedIn(name);
    expect(await isAlive(secret)).toBe(true);
    const ended = 'This sign-in link was used before or has expired';
    // The second click of a double click.
    const again = await sessions.signInByLink(link, browser(), 'visit');
    expect(await isAlive(again.secret)).toBe(true);
    await expect(sessions.signInByLink(link, browser(), 'other visit')).rejects.toThrow(ended);
    clock.advance(MINUTE);
    await expect(sessions.signInByLink(link, browser(), 'visit')).rejects.toThrow(ended);
    const { url } = await server.app.get(OperatorLinksService).create(SYSTEM, name);
    expect(url).toMatch(/^http:\/\/localhost:\d+\/console\/sign-in\/link\?secret=[0-9a-z]{40}$/);
    clock.advance(60 * MINUTE);
    const late = new URL(url).searchParams.get('secret') ?? '';
    await expect(sessions.signInByLink(late, browser(), 'visit')).rejects.toThrow(ended);
  });

  it('are told that their link has ended if a change ends it while they sign in', async () => {
    const { name } = await create();
    const database = server.app.get(Database);
    const { url } = await server.app.get(OperatorLinksService).create(SYSTEM, name);
    const link = new URL(url).searchParams.get('secret') ?? '';
    // A change locks the operator before it deletes the links.
    const signIn = await database.transaction(async (sql) => {
      const [operator] = await sql.query<{ id: string }>(
        'select id from operator where name = $1 for update',
        [name],
      );
      const running = sessions
        .signInByLink(link, browser(), 'other visit')
        .catch((error: unknown) => error);
      await until('the sign-in to wait', async () => {
        const [waiting] = await rowsOf(server, WAITING);
        return waiting !== undefined;
      });
      await sql.query('delete from operator_link where operator_id = $1', [operator?.id]);
      return { running };
    });
    expect(await signIn.running).toMatchObject({ code: 'operator.link-ended' });
  });

  it('get a new session at each sign-in, which ends the one that the browser presented', async () => {
    const { name } = await create();
    const first = await signedIn(name);
    const second = await signedIn(name, first.secret);
    expect(second.secret).not.toBe(first.secret);
    expect([await isAlive(first.secret), await isAlive(second.secret)]).toEqual([false, true]);
    // A value that somebody else chose does not become a session.
    await signedIn(name, 'chosen-by-an-attacker');
    expect(await isAlive('chosen-by-an-attacker')).toBe(false);
  });

  it('lose a session that was not used for an hour, and every session after twelve hours', async () => {
    const { name } = await create();
    const idle = await signedIn(name);
    const used = await signedIn(name);
    for (let minutes = 0; minutes < 11 * 60; minutes += 55) {
      clock.advance(55 * MINUTE);
      expect(await isAlive(used.secret)).toBe(true);
    }
    expect(await isAlive(idle.secret)).toBe(false);
    clock.advance(55 * MINUTE);
    expect(await isAlive(used.secret)).toBe(true);
    clock.advance(5 * MINUTE);
    expect(await isAlive(used.secret)).toBe(false);
    await server.app.get(OperatorLinksService).create(SYSTEM, name);
    const fresh = await signedIn(name);
    await pruneOperatorSessions(server.app.get(Database), clock.now());
    const left = await rowsOf(
      server,
      'select 1 from operator_session union all select 1 from operator_link where used_by is null',
    );
    expect(left).toHaveLength(2);
    expect(await isAlive(fresh.secret)).toBe(true);
  });

  it('lose all sessions and links when the password or the role changes, and when they are removed', async () => {
    const { name } = await create();
    const changes = [
      () => operators.setPassword(SYSTEM, name, PASSWORD),
      () => operators.setRole(SYSTEM, name, 'read'),
      () => operators.remove(SYSTEM, name),
    ];
    for (const change of changes) {
      const { secret } = await signedIn(name);
      const { url } = await server.app.get(OperatorLinksService).create(SYSTEM, name);
      expect(await isAlive(secret)).toBe(true);
      await change();
      expect(await isAlive(secret)).toBe(false);
      const link = new URL(url).searchParams.get('secret') ?? '';
      await expect(sessions.signInByLink(link, browser(), 'other visit')).rejects.toThrow(
        'used before',
      );
    }
    await expect(operators.remove(SYSTEM, name)).rejects.toThrow(`Couldn't find operator ${name}`);
  });

  it('end their own session only', async () => {
    const [one, other] = [await create(), await create()];
    const mine = await signedIn(one.name);
    const principal = await credentials.bySession(mine.secret);
    await sessions.signOut(other.id, principal?.sessionId ?? '');
    expect(await isAlive(mine.secret)).toBe(true);
    await sessions.signOut(one.id, principal?.sessionId ?? '');
    expect(await isAlive(mine.secret)).toBe(false);
  });

  it('have tokens that can do no more than the token and its operator, until they expire or are revoked', async () => {
    const { name } = await create();
    const tokens = server.app.get(OperatorTokensService);
    const token = (role: 'read' | 'operate', lifetimeSeconds: number | null = null) =>
      tokens.create(SYSTEM, { operatorName: name, note: 'script', role, lifetimeSeconds });
    const roleOf = async (secret: string) => (await credentials.byToken(secret))?.role;
    const [full, weak, short] = [
      await token('operate'),
      await token('read'),
      await token('operate', 60),
    ];
    expect(await roleOf(full.token)).toBe('operate');
    expect(await roleOf(weak.token)).toBe('read');
    expect(await roleOf(short.token)).toBe('operate');
    clock.advance(MINUTE);
    expect(await roleOf(short.token)).toBeUndefined();
    await operators.setRole(SYSTEM, name, 'read');
    expect(await roleOf(full.token)).toBe('read');
    await tokens.revoke(SYSTEM, full.id);
    expect(await roleOf(full.token)).toBeUndefined();
    const listed = (await tokens.list()).filter(({ operatorName }) => operatorName === name);
    expect(listed.map(({ id }) => id)).toEqual([weak.id, short.id]);
    expect(JSON.stringify(listed)).not.toContain(weak.token);
    await expect(tokens.revoke(SYSTEM, full.id)).rejects.toThrow("Couldn't find operator token");
    await expect(tokens.revoke(SYSTEM, 'x')).rejects.toThrow("Couldn't find operator token x");
  });

  it('need a name and a password that are allowed, and a name of their own', async () => {
    const wanted = { name: 'grace', role: 'read', password: null } as const;
    await operators.create(SYSTEM, wanted);
    await expect(operators.create(SYSTEM, { ...wanted, name: 'Grace' })).rejects.toMatchObject({
      kind: 'conflict',
    });
    for (const name of ['', 'two words', 'a\0b', 'x'.repeat(101)])
      await expect(operators.create(SYSTEM, { ...wanted, name })).rejects.toThrow(/^name: must/);
    for (const password of ['short', 'x'.repeat(201)])
      await expect(operators.setPassword(SYSTEM, 'grace', password)).rejects.toThrow(
        'password: must be 12 to 200 characters long',
      );
  });
});
