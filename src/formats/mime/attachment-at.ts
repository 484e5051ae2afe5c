import PostalMime from 'postal-mime';

/*
 * Runs in worker threads for `openAttachment`. Node loads this file directly, in tests too, so it
 * may import only files whose types Node itself can strip.
 */

/**
 * The bytes of the attachment at a position; `null` if there is none. A message within the message
 * counts as an attachment.
 */
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
