import { type CleanOptions, type MessageInput, partsOf } from './clean-message.ts';
import { contactsOf, type SignatureContacts } from './signature-contacts.ts';

/**
 * The signature of a message and its contact data. Both are empty if the message has no signature;
 * `contacts` is `null` if it was not requested.
 */
export interface Signature {
  signature: string;
  contacts: SignatureContacts | null;
}

/**
 * Finds the signature of a message.
 * @param parseContacts true to read the contact data in it
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
  // Links are part of the contact data even if the options remove them from the text.
  const linked =
    options.ignoreLinks && /<a\s/i.test(message.body)
      ? partsOf(message, { ...options, ignoreLinks: false }, careful).signature
      : signature;
  return {
    signature: shown,
    contacts: contactsOf(linked, { name: message.fromName, email: message.fromEmail }),
  };
}
