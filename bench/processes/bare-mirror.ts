import { ImapFlow } from 'imapflow';
import PostalMime from 'postal-mime';
import { serve } from './serve.ts';

/*
 * The comparison for the mirror: imapflow fetches every message of a mailbox and postal-mime parses
 * it.
 */

/** Address and credentials of the mailbox. */
export interface BareMailbox {
  port: number;
  user: string;
  password: string;
}

process.on('SIGINT', () => undefined);
serve(null, {
  /**
   * Reads the inbox. Returns the number of messages and the milliseconds that reading took after
   * the login.
   */
  read: async ({ port, user, password }: BareMailbox) => {
    const client = new ImapFlow({
      host: '127.0.0.1',
      port,
      secure: false,
      doSTARTTLS: false,
      auth: { user, pass: password },
      logger: false,
    });
    await client.connect();
    const begun = performance.now();
    await client.mailboxOpen('INBOX', { readOnly: true });
    let count = 0;
    for await (const { source } of client.fetch(
      '1:*',
      { uid: true, source: true },
      { uid: true },
    )) {
      if (!source) continue;
      await PostalMime.parse(source);
      count += 1;
    }
    const ms = performance.now() - begun;
    await client.logout();
    return { count, ms };
  },
});
