import { type CleanOptions, type MessageInput, partsOf } from './clean-message.ts';
import { contactsOf, type SignatureContacts } from './signature-contacts.ts';

/** What was found of a signature; both are empty when the message has none. */
export interface Signature {
  signature: string;
  contacts: SignatureContacts | null;
}

/**
 * The signature of a message.
 * @param parseContacts whether to look into it
 */
export function signatureOf(
  message: MessageInput & { fromEmail: string },
  options: CleanOptions,
  parseContacts: boolean,
  careful = false,
): Signature {
  const { closing, signature } = partsOf(message, options, careful);
  const shown =
    options.removeConclusionPhrases || closing === null
      ? signature
      : `${closing}\n${signature}`.trim();
  if (!parseContacts) return { signature: shown, contacts: null };
  // Links belong to the contacts, whether or not they are to be shown.
  const linked =
    options.ignoreLinks && /<a\s/i.test(message.body)
      ? partsOf(message, { ...options, ignoreLinks: false }, careful).signature
      : signature;
  return {
    signature: shown,
    contacts: contactsOf(linked, { name: message.fromName, email: message.fromEmail }),
  };
}
