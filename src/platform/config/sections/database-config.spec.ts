import { databaseConfig, databaseVariables } from './database-config.ts';
import { z } from 'zod';

/** The settings of a process with this environment, and what is wrong with them. */
function configOf(environment: Record<string, string>, ...roles: string[]) {
  const problems: string[] = [];
  const env = z.object(databaseVariables).parse(environment);
  return { ...databaseConfig(env, roles, problems), problems };
}

describe('the connections of a process', () => {
  it.each([
    { roles: ['api'], connections: 23, pools: { requests: 10, orm: 10, engine: 0 } },
    { roles: ['worker'], connections: 29, pools: { requests: 10, orm: 10, engine: 5 } },
    { roles: ['api', 'worker'], connections: 29, pools: { requests: 10, orm: 10, engine: 5 } },
  ])('are $connections by default with the roles $roles', ({ roles, connections, pools }) => {
    expect(configOf({}, ...roles)).toMatchObject({ connections, pools });
  });

  it.each(['10', '11', '17', '40', '1000'])(
    'are at most DATABASE_CONNECTIONS=%s, and every pool has some',
    (most) => {
      for (const roles of [['api'], ['worker'], ['api', 'worker']]) {
        const { connections, pools } = configOf({ DATABASE_CONNECTIONS: most }, ...roles);
        expect(connections).toBe(Number(most));
        expect(Math.min(pools.requests, pools.orm)).toBeGreaterThanOrEqual(1);
        expect(pools.engine).toBeGreaterThanOrEqual(roles.includes('worker') ? 4 : 0);
      }
    },
  );

  it('are pooled by transaction only in processes without the role worker', () => {
    const pooled = { DATABASE_POOLING: 'transaction' };
    expect(configOf(pooled, 'api')).toMatchObject({ transactionPooling: true, problems: [] });
    expect(configOf(pooled, 'api', 'worker').problems).toEqual([
      expect.stringMatching(/^DATABASE_POOLING: transaction is only for/),
    ]);
  });
});

describe('DATABASE_READ_URL', () => {
  it('is absent by default', () => {
    expect(configOf({}, 'api').readUrl).toBeNull();
  });

  it('names one standby', () => {
    const url = 'postgresql://carillon:secret@db2:5433/mail';
    expect(configOf({ DATABASE_READ_URL: url }, 'api').readUrl).toBe(url);
  });

  it.each([
    ['postgresql://db2,db3/mail', 'must name one host'],
    ['postgresql://db2/mail?target_session_attrs=any', 'must name one host'],
    ['mysql://db2/mail', 'must start with postgres://'],
  ])('is refused if it is %s', (url, reason) => {
    expect(() => configOf({ DATABASE_READ_URL: url }, 'api')).toThrow(reason);
  });
});
