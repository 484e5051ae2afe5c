import { describeWith } from '../support/mail-servers/installed.ts';
import { ImapDriver } from '../support/mirror/imap-driver.ts';
import { describeMirror } from '../support/mirror/mirror-suite.ts';

describeWith(['dovecot', 'exim4'], 'on a real server', () => {
  // Dovecot reports contents with the changes, and does not fail on single messages.
  const traits = { canFail: false, lists: false, messages: 100, folders: 6 };
  describeMirror(
    'IMAP',
    async () => ({ driver: await ImapDriver.start(), environment: {} }),
    traits,
  );
});
