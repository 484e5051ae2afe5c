import { loadConfig } from '../platform/config/app-config.ts';
import { Database } from '../platform/database/sql.ts';
import { DISPATCHERS } from '../platform/work/engine.ts';
import { startReport } from './start-report.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const FACTS = { version: '18.4', migrations: 90, last: 'Migration20261124' };

/** The report of a process with this environment, whose database answers with `facts`. */
async function report(environment: Record<string, string>, facts: object | null = FACTS) {
  const services = new Map<unknown, unknown>([
    [
      Database,
      { query: () => (facts ? Promise.resolve([facts]) : Promise.reject(new Error('away'))) },
    ],
    [DISPATCHERS, [{ table: { queue: 'send' }, slots: 192 }]],
  ]);
  const config = loadConfig({
    DATABASE_URL: 'postgresql://ada:pass-word@db.internal:5433/mail',
    ENCRYPTION_KEYS: `new:${KEY},old:${KEY}`,
    ...environment,
  });
  const app = { get: (token: unknown) => services.get(token) };
  return startReport(app as never, config);
}

describe('the lines of a start', () => {
  it('say what runs where, without passwords and keys', async () => {
    const { lines, warnings } = await report({ ROLES: 'worker' });
    const text = lines.join('\n');
    expect(lines.length).toBeLessThanOrEqual(9);
    expect(text).toContain(`on Node ${process.versions.node}, development`);
    expect(text).toContain(
      'database db.internal:5433/mail, PostgreSQL 18.4; schema up to date, 90 migrations, last Migration20261124',
    );
    expect(text).toContain('work: rows at a time of each queue: send 192');
    expect(text).toContain('keys: 2 in ENCRYPTION_KEYS, new secrets are sealed with "new"');
    expect(text).not.toMatch(/pass-word|ada|BwcHBwcH/);
    expect(warnings).toEqual([]);
  });

  it('come even if the database is away', async () => {
    const { lines } = await report({}, null);
    expect(lines.join('\n')).toContain('database db.internal:5433/mail, not readable yet');
  });

  it('warn in production of settings that are unusual there', async () => {
    const { warnings } = await report({
      NODE_ENV: 'production',
      BASE_URL: 'http://mail.example.test',
      EGRESS_ALLOW: '0.0.0.0/0',
      RATE_LIMIT_FAILURES: '0',
      SANDBOX: 'true',
    });
    expect(warnings).toEqual([
      'BASE_URL is not https: http://mail.example.test',
      expect.stringContaining('MAIL_DOMAIN is not set'),
      expect.stringContaining('SANDBOX=true'),
      expect.stringContaining('EGRESS_ALLOW allows every address'),
      'no limit on requests: RATE_LIMIT_FAILURES=0',
    ]);
    const usual = { BASE_URL: 'https://mail.example.test', MAIL_DOMAIN: 'example.test' };
    expect((await report({ NODE_ENV: 'production', ...usual })).warnings).toEqual([]);
  });
});
