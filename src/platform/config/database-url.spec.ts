import { parseDatabaseUrl } from './database-url.ts';

describe('DATABASE_URL', () => {
  it.each([
    'postgres://u:p@db:5433/mail',
    'postgresql://localhost/none',
    'postgresql:///mail?host=/var/run/postgresql',
    'postgres://u@%2Fvar%2Frun/mail',
    'postgres://[::1]:5432/mail?sslmode=verify-full',
    'postgres://x',
  ])('is used as it is, without asking the host, when it is %s', (url) => {
    expect(parseDatabaseUrl(url)).toEqual({ urls: [url], sessions: null });
  });

  it('names several hosts, each with its own port, with one user and the same parameters', () => {
    const url =
      'postgres://u:p%2C@db1:5432,[::1]:5433,db3/mail?sslmode=no-verify&target_session_attrs=primary&a=b';
    expect(parseDatabaseUrl(url)).toEqual({
      urls: [
        'postgres://u:p%2C@db1:5432/mail?sslmode=no-verify&a=b',
        'postgres://u:p%2C@[::1]:5433/mail?sslmode=no-verify&a=b',
        'postgres://u:p%2C@db3/mail?sslmode=no-verify&a=b',
      ],
      sessions: 'primary',
    });
  });

  it('means hosts that accept writes when it names several and says nothing else', () => {
    expect(parseDatabaseUrl('postgres://db1,db2/mail').sessions).toBe('read-write');
    expect(parseDatabaseUrl('postgres://db1,db2/mail?target_session_attrs=any').sessions).toBe(
      'any',
    );
    expect(parseDatabaseUrl('postgres://db/mail?target_session_attrs=read-write')).toEqual({
      urls: ['postgres://db/mail'],
      sessions: 'read-write',
    });
  });

  it('ends the user and password at the last @ before the database name', () => {
    expect(parseDatabaseUrl('postgres://u:a@b,c@db1,db2/mail').urls).toEqual([
      'postgres://u:a@b,c@db1/mail',
      'postgres://u:a@b,c@db2/mail',
    ]);
  });

  it.each([
    ['mysql://db/mail', 'must start with postgres:// or postgresql://'],
    ['postgres://db1,db2/mail?target_session_attrs=standby', 'a standby accepts no writes'],
    ['postgres://db/mail?target_session_attrs=prefer-standby', 'a standby accepts no writes'],
    ['postgres://db/mail?target_session_attrs=leader', 'must be read-write, primary or any'],
    ['postgres://db/mail?target_session_attrs=', 'must be read-write, primary or any'],
    ['postgres://db1,,db2/mail', 'has a host that cannot be read'],
    ['postgres://db1:5432,/mail', 'has a host that cannot be read'],
    ['postgres://db1:x,db2/mail', 'has a host that cannot be read'],
    ['postgres://u:p@/mail?host=/tmp', 'is not a valid URL; name a host'],
    ['postgres://::1,db2/mail', 'has a host that cannot be read'],
    ['postgres://db1:70000,db2/mail', 'has a port that is not between 1 and 65535'],
    ['postgres:///mail?host=db1,db2', 'must name several hosts before the database name'],
    ['postgres://u:p#secret@db/mail', 'has a host that cannot be read'],
    [
      `postgres://${Array.from({ length: 17 }, (_, n) => `db${n}`).join(',')}/x`,
      'at most 16 hosts',
    ],
  ])('is refused when it is %s', (url, problem) => {
    expect(() => parseDatabaseUrl(url)).toThrow(problem);
    expect(() => parseDatabaseUrl(url)).not.toThrow(/secret|u:p/);
  });
});
