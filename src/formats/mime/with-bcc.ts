/**
 * Returns a composed message with a Bcc header. It is for the sender's own copy (RFC 5322, 3.6.3)
 * and for providers that take the recipients from the message and remove the header themselves.
 * @param mime text without a Bcc header
 * @param bcc may be empty; the text is then returned unchanged
 */
export function withBcc(mime: Buffer, bcc: readonly { email: string }[]): Buffer {
  if (bcc.length === 0) return mime;
  const header = `Bcc: ${bcc.map(({ email }) => `<${email}>`).join(',\r\n ')}\r\n`;
  return Buffer.concat([Buffer.from(header), mime]);
}
