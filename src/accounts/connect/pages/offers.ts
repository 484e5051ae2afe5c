import type { Offer } from '../sign-in/provider-offers.ts';
import type { OfferedProvider } from './sign-in.pages.ts';

/**
 * Adds title and hint to an offer. A server of the application's own OAuth sign-in is shown under
 * the name of its integration.
 */
export function offered({ id, provider, oauth, name, signIn }: Offer): OfferedProvider {
  const { title, hint, namedByIntegration = false } = signIn;
  const own =
    namedByIntegration && oauth && name ? { title: name, hint: `Sign in at ${name}` } : {};
  return { id, provider, oauth, title, hint, ...own };
}
