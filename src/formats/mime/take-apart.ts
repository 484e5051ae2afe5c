import PostalMime, { type Address } from 'postal-mime';

/*
 * Runs in worker threads for `messageParts`. Node loads this file directly, in tests too, so it may
 * import only files whose types Node itself can strip.
 */

/** An address of a message, with its name; the name may be empty. */
export interface PartAddress {
  name: string;
  address: string;
}

/** A file of a message, decoded. */
export interface PartFile {
  filename: string;
  contentType: string;
  isInline: boolean;
  /** Without angle brackets. */
  contentId: string | null;
  bytes: Uint8Array;
}

/** A message as its parts, for services that do not take MIME texts of this size. */
export interface MessageParts {
  from: PartAddress[];
  sender: PartAddress[];
  replyTo: PartAddress[];
  to: PartAddress[];
  cc: PartAddress[];
  bcc: PartAddress[];
  subject: string;
  /** With angle brackets, as in the header; empty without one. */
  messageId: string;
  inReplyTo: string;
  references: string;
  /** Header fields that begin with `X-`, in their order. */
  extra: { name: string; value: string }[];
  importance: 'low' | 'normal' | 'high';
  text: string | null;
  html: string | null;
  /** In the order of the message. Calendar files and messages within the message are among them. */
  files: PartFile[];
}

/** Takes a message apart. */
export async function takeApart({ mime }: { mime: Uint8Array }): Promise<MessageParts> {
  const email = await PostalMime.parse(mime, {
    forceRfc822Attachments: true,
    maxNestingDepth: 100,
  });
  const field = (name: string) => email.headers.find(({ key }) => key === name)?.value.trim() ?? '';
  const importance = field('importance').toLowerCase();
  return {
    from: addresses(email.from ? [email.from] : []),
    sender: addresses(email.sender ? [email.sender] : []),
    replyTo: addresses(email.replyTo),
    to: addresses(email.to),
    cc: addresses(email.cc),
    bcc: addresses(email.bcc),
    subject: email.subject ?? '',
    messageId: email.messageId ?? '',
    inReplyTo: field('in-reply-to'),
    references: field('references'),
    extra: email.headers.flatMap(({ key, originalKey, value }) =>
      key.startsWith('x-') ? [{ name: originalKey, value }] : [],
    ),
    importance: importance === 'high' || importance === 'low' ? importance : 'normal',
    text: email.text ?? null,
    html: email.html ?? null,
    files: email.attachments.map((file) => ({
      filename: file.filename ?? '',
      contentType: file.mimeType,
      isInline: file.disposition === 'inline' || file.related === true,
      contentId: file.contentId?.replace(/^<|>$/g, '') || null,
      bytes:
        typeof file.content === 'string'
          ? new TextEncoder().encode(file.content)
          : new Uint8Array(file.content),
    })),
  };
}

function addresses(list: readonly Address[] | undefined): PartAddress[] {
  return (list ?? [])
    .flatMap((entry) => entry.group ?? [entry])
    .flatMap(({ name, address }) => (address ? [{ name, address }] : []));
}
