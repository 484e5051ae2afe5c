import { execFileSync } from 'node:child_process';
import { describe, it } from '@jest/globals';

/** Programs that are installed with the system, and the Debian packages they come with. */
const PACKAGES = {
  dovecot: 'dovecot-imapd dovecot-lmtpd dovecot-submissiond',
  exim4: 'exim4-daemon-light',
  radicale: 'radicale',
  xandikos: 'xandikos',
  chromium: 'chromium',
} as const;

/** One of them. */
export type Program = keyof typeof PACKAGES;

function isInstalled(program: Program): boolean {
  try {
    // Debian keeps servers in sbin, which is not on everybody's path.
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
 * A `describe` that needs servers of the system. Where one is missing it says so on stderr and is skipped; in CI it
 * fails.
 */
export function describeWith(programs: readonly Program[], title: string, body: () => void): void {
  const missing = programs.filter((program) => !isInstalled(program));
  if (missing.length === 0) {
    // oxlint-disable-next-line jest/valid-describe-callback -- it is the caller's
    describe(title, body);
    return;
  }
  const packages = missing.map((program) => PACKAGES[program]).join(' ');
  const complaint = `${title}: ${missing.join(' and ')} not installed (apt-get install ${packages})`;
  if (process.env['CI']) {
    describe(title, () => {
      it('finds its servers', () => {
        throw new Error(complaint);
      });
    });
    return;
  }
  process.stderr.write(`\n*** NOT RUN *** ${complaint}\n`);
  // oxlint-disable-next-line jest/no-disabled-tests, jest/valid-describe-callback -- said aloud; in CI it has failed above
  describe.skip(title, body);
}
