import type { Offer } from '../provider-offers.ts';
import type { OfferedProvider } from './sign-in.pages.ts';

const WORDS: Readonly<Record<string, { title: string; hint: string }>> = {
  google: { title: 'Google', hint: 'Gmail and Google Workspace' },
  microsoft: { title: 'Microsoft', hint: 'Outlook.com and Microsoft 365' },
  imap: { title: 'Email and password', hint: 'Any mail provider, by IMAP and SMTP' },
  sandbox: { title: 'Sandbox', hint: 'A mailbox for testing' },
};

/**
 * Adds title and hint to an offer. An IMAP server with its own OAuth sign-in is shown under the
 * name of its integration.
 */
export function offered({ id, provider, oauth, name }: Offer): OfferedProvider {
  const { title, hint } = WORDS[provider] ?? { title: provider, hint: '' };
  const own =
    provider === 'imap' && oauth && name ? { title: name, hint: `Sign in at ${name}` } : {};
  return { id, provider, oauth, title, hint, ...own };
}
