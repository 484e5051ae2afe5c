import { ReleaseError, releaseNotes } from './lib/changelog.ts';

/** `node scripts/run.mjs release-notes v1.2.3` prints the notes of a release for its page. */
try {
  process.stdout.write(releaseNotes(process.argv[2] ?? ''));
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error;
  process.stderr.write(`The release is not prepared:\n${error.message}\n`);
  process.exitCode = 1;
}
