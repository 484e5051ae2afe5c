import { databaseTrouble, mayBeCommitted } from './database-trouble.ts';

const coded = (code: string) => Object.assign(new Error('some words'), { code });

describe('databaseTrouble', () => {
  it.each([
    '57P01',
    '57P03',
    '08006',
    '53300',
    '53100',
    '25006',
    'ECONNREFUSED',
    'ECONNRESET',
    'ENOTFOUND',
    'COMMITS_WAIT',
    'UNCONFIRMED',
  ])('reports the database as away for the code %s', (code) => {
    expect(databaseTrouble(coded(code))).toBe('away');
  });

  it.each([
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'timeout exceeded when trying to connect',
    'Query read timeout',
    'Client has encountered a connection error and is not queryable',
  ])('reports the database as away for the driver\'s message "%s"', (message) => {
    expect(databaseTrouble(new Error(message))).toBe('away');
  });

  it.each(['40001', '40P01', '55P03', '57014'])(
    'reports the database as busy for the code %s',
    (code) => {
      expect(databaseTrouble(coded(code))).toBe('busy');
    },
  );

  it('ignores errors of other connections, even as the cause of an error', () => {
    expect(
      databaseTrouble(new Error('no mail server', { cause: coded('ECONNREFUSED') })),
    ).toBeNull();
  });

  it.each([
    coded('23505'),
    coded('22021'),
    coded('ENOENT'),
    new Error('a bug'),
    null,
    undefined,
    'text',
  ])('returns null for %p', (error) => {
    expect(databaseTrouble(error)).toBeNull();
  });
});

describe('mayBeCommitted', () => {
  it.each(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', '57P01', '57P02', '08006', 'UNCONFIRMED'])(
    'is true for %s: the connection was lost, or given up',
    (code) => {
      expect(mayBeCommitted(coded(code))).toBe(true);
    },
  );

  it.each(['Connection terminated unexpectedly', 'Query read timeout'])(
    'is true for the message "%s"',
    (message) => {
      expect(mayBeCommitted(new Error(message))).toBe(true);
    },
  );

  it.each([
    'ECONNREFUSED',
    'ENOTFOUND',
    'COMMITS_WAIT',
    '53300',
    '53100',
    '57P03',
    '25006',
    '40P01',
    '57014',
  ])('is false for %s: nothing was committed', (code) => {
    expect(mayBeCommitted(coded(code))).toBe(false);
  });

  it('is false if there was no connection', () => {
    expect(mayBeCommitted(new Error('timeout exceeded when trying to connect'))).toBe(false);
  });
});
