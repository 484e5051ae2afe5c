import { ImapFlow } from 'imapflow';
import PostalMime from 'postal-mime';
import { serve } from './serve.ts';

/* What the mirror is measured against: every message of a mailbox fetched by imapflow and parsed by postal-mime. */

/** Whose mailbox it is. */
export interface BareMailbox {
  port: number;
  user: string;
  password: string;
}

process.on('SIGINT', () => undefined);
serve(null, {
  /** Reads the inbox; answers how many messages there were, and how many milliseconds it took after the login. */
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
