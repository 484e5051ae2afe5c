import { isAscii } from 'node:buffer';
import { domainToASCII } from 'node:url';
import type { OutgoingMessage } from '../port/connector.ts';
import { ProviderError, type RefusedRecipient } from '../../platform/base/errors/provider-error.ts';

/**
 * The extensions that a server announced in its reply to EHLO, as far as messages are concerned.
 */
export interface SmtpExtensions {
  /** Accepts addresses that are not ASCII (RFC 6531). */
  utf8: boolean;
  /** Largest message in bytes (RFC 1870). `null` if the server did not announce a limit. */
  maxBytes: number | null;
}

/** The envelope as it is sent to this server. */
export interface SmtpEnvelope {
  from: string;
  to: string[];
  /** In bytes. Announced to servers that support SIZE. */
  size: number;
  use8BitMime: boolean;
}

/** An envelope, with the original form of its addresses. */
export interface PreparedEnvelope {
  envelope: SmtpEnvelope;
  /** For each address in the envelope: the recipients as the caller wrote them. */
  originals: ReadonlyMap<string, readonly string[]>;
  /** Recipients that this server's extensions do not allow. */
  refused: readonly RefusedRecipient[];
}

const NO_UTF8 = 'the server does not accept internationalised addresses (SMTPUTF8)';

/** Reads the reply to EHLO. */
export function extensionsOf(ehlo: string): SmtpExtensions {
  const size = /^\d{3}[ -]SIZE[ \t]+(\d+)/im.exec(ehlo)?.[1];
  return { utf8: /^\d{3}[ -]SMTPUTF8\b/im.test(ehlo), maxBytes: Number(size) || null };
}

/**
 * The address as it is sent to the server. Its domain is converted to ASCII, which every server
 * accepts (RFC 5891). `null` if the part before the `@` is not ASCII and the server accepts
 * only ASCII; the library would send such an address anyway.
 * @throws {ProviderError} `rejected` if the address contains characters that could end the SMTP
 *   command
 */
export function wireAddress(email: string, { utf8 }: Pick<SmtpExtensions, 'utf8'>): string | null {
  const address = email.trim();
  if (address === '' || /[\p{Cc}<>]/u.test(address)) {
    throw new ProviderError('rejected', 'An address of the envelope is not a valid address', {
      phase: 'envelope',
    });
  }
  const at = address.lastIndexOf('@');
  const [local, domain] = [address.slice(0, at + 1), address.slice(at + 1)];
  const wire = isPlain(domain) ? address : local + (domainToASCII(domain) || domain);
  return isPlain(wire) || utf8 ? wire : null;
}

/**
 * Prepares the envelope for a server with these extensions.
 * @throws {ProviderError} `rejected` if the server cannot accept the message for any recipient
 */
export function prepareEnvelope(
  message: OutgoingMessage,
  extensions: SmtpExtensions,
): PreparedEnvelope {
  const { mime, envelope } = message;
  const { maxBytes } = extensions;
  const refuse = (words: string, refused: readonly RefusedRecipient[] = []): never => {
    throw new ProviderError('rejected', words, { phase: 'envelope', refused });
  };
  if (maxBytes !== null && mime.length > maxBytes)
    refuse(`The message has ${mime.length} bytes; the server accepts at most ${maxBytes}`);
  const from = wireAddress(envelope.from, extensions) ?? refuse(`${envelope.from}: ${NO_UTF8}`);
  const originals = new Map<string, string[]>();
  const refused: RefusedRecipient[] = [];
  for (const email of envelope.recipients) {
    const wire = wireAddress(email, extensions);
    if (wire === null) refused.push({ email, reason: NO_UTF8 });
    else originals.set(wire, [...(originals.get(wire) ?? []), email]);
  }
  if (originals.size === 0) {
    const [first] = refused;
    refuse(first ? `${first.email}: ${NO_UTF8}` : 'The message has no recipients', refused);
  }
  const to = [...originals.keys()];
  return {
    envelope: { from, to, size: mime.length, use8BitMime: !isAscii(mime) },
    originals,
    refused,
  };
}

function isPlain(text: string): boolean {
  return isAscii(Buffer.from(text));
}
