import { execFileSync } from 'node:child_process';
import { describe, it } from '@jest/globals';

/** Servers and tools that the operating system provides, with their Debian packages. */
const PACKAGES = {
  dovecot: 'dovecot-imapd dovecot-lmtpd dovecot-submissiond',
  exim4: 'exim4-daemon-light',
  radicale: 'radicale',
  xandikos: 'xandikos',
  chromium: 'chromium',
  python3: 'python3',
  promtool: 'prometheus',
  pgbouncer: 'pgbouncer',
  haproxy: 'haproxy',
  pg_basebackup: 'postgresql',
} as const;

/** Name of a server in `PACKAGES`. */
export type Program = keyof typeof PACKAGES;

function isInstalled(program: Program): boolean {
  try {
    // Debian installs servers in sbin, which is not on every user's PATH.
    const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin`;
    execFileSync('sh', ['-c', `command -v ${program}`], {
      env: { ...process.env, PATH },
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}

/**
 * A `describe` for tests that need installed servers. If one is missing, the suite is skipped with
 * a message on stderr; in CI it fails.
 */
export function describeWith(programs: readonly Program[], title: string, body: () => void): void {
  const missing = programs.filter((program) => !isInstalled(program));
  if (missing.length === 0) {
    // oxlint-disable-next-line jest/valid-describe-callback -- from the caller
    describe(title, body);
    return;
  }
  const packages = missing.map((program) => PACKAGES[program]).join(' ');
  const complaint = `${title}: ${missing.join(' and ')} not installed (apt-get install ${packages})`;
  if (process.env['CI']) {
    describe(title, () => {
      it('finds the servers that it needs', () => {
        throw new Error(complaint);
      });
    });
    return;
  }
  process.stderr.write(`\n*** NOT RUN *** ${complaint}\n`);
  // oxlint-disable-next-line jest/no-disabled-tests, jest/valid-describe-callback -- stderr says so
  describe.skip(title, body);
}
