import PostalMime from 'postal-mime';

/*
 * What threads do with messages whose attachments are opened (`openAttachment`). Node loads this file as it is, in tests too: it
 * may import only what Node itself can strip of types.
 */

/** The bytes of the attachment at this position, a message inside the message included; null: there is none. */
export async function attachmentAt({
  mime,
  position,
}: {
  mime: Uint8Array;
  position: number;
}): Promise<Uint8Array | null> {
  const { attachments } = await PostalMime.parse(mime, {
    forceRfc822Attachments: true,
    maxNestingDepth: 100,
  });
  const content = attachments[position]?.content;
  if (content === undefined) return null;
  return typeof content === 'string' ? new TextEncoder().encode(content) : new Uint8Array(content);
}
