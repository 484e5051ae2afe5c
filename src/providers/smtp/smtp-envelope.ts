import { isAscii } from 'node:buffer';
import { domainToASCII } from 'node:url';
import type { OutgoingMessage } from '../port/connector.ts';
import { ProviderError, type RefusedRecipient } from '../../platform/base/errors/provider-error.ts';

/** What a server said in answer to EHLO, as far as messages are concerned. */
export interface SmtpExtensions {
  /** Takes addresses that are not ASCII (RFC 6531). */
  utf8: boolean;
  /** Largest message in bytes (RFC 1870); null: it did not say. */
  maxBytes: number | null;
}

/** The envelope as this server is told it. */
export interface SmtpEnvelope {
  from: string;
  to: string[];
  /** Bytes; announced where the server takes SIZE. */
  size: number;
  use8BitMime: boolean;
}

/** An envelope, and how its addresses were written in the message. */
export interface PreparedEnvelope {
  envelope: SmtpEnvelope;
  /** Our addresses for one on the wire. */
  originals: ReadonlyMap<string, readonly string[]>;
  /** Recipients this server cannot be asked about. */
  refused: readonly RefusedRecipient[];
}

const NO_UTF8 = 'the server takes no internationalised addresses (SMTPUTF8)';

/** Reads the answer to EHLO. */
export function extensionsOf(ehlo: string): SmtpExtensions {
  const size = /^\d{3}[ -]SIZE[ \t]+(\d+)/im.exec(ehlo)?.[1];
  return { utf8: /^\d{3}[ -]SMTPUTF8\b/im.test(ehlo), maxBytes: Number(size) || null };
}

/**
 * The address as it goes on the wire: the domain in ASCII, which every server takes (RFC 5891); null when the rest is
 * not ASCII and the server does not take that. The library would send it all the same.
 * @throws {ProviderError} `rejected` when it could end the command it stands in
 */
export function wireAddress(email: string, { utf8 }: Pick<SmtpExtensions, 'utf8'>): string | null {
  const address = email.trim();
  if (address === '' || /[\p{Cc}<>]/u.test(address)) {
    throw new ProviderError('rejected', 'An address of the envelope is no address', {
      phase: 'envelope',
    });
  }
  const at = address.lastIndexOf('@');
  const [local, domain] = [address.slice(0, at + 1), address.slice(at + 1)];
  const wire = isPlain(domain) ? address : local + (domainToASCII(domain) || domain);
  return isPlain(wire) || utf8 ? wire : null;
}

/**
 * The envelope for a server with these extensions.
 * @throws {ProviderError} `rejected` when it cannot take the message, whoever it is for
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
    refuse(`The message has ${mime.length} bytes; the server takes ${maxBytes} at most`);
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
