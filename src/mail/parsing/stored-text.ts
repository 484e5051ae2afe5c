import PostalMime from 'postal-mime';
import type { StoredText } from '../../providers/port/connector.ts';

const plain = (text: string) => text.replaceAll(/[^\w.:+-]/g, '');

/**
 * Decodes the text of a part. With an unknown charset or a broken encoding it returns the readable
 * text. For worker threads only.
 */
export async function decodeText({
  type,
  charset,
  encoding,
  format,
  delSp,
  bytes,
}: StoredText): Promise<string> {
  const parameters = Object.entries({ charset, format, delsp: delSp })
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `; ${name}=${plain(value)}`)
    .join('');
  const header = `Content-Type: ${type}${parameters}\r\nContent-Transfer-Encoding: ${plain(encoding) || '7bit'}\r\n\r\n`;
  const { html, text, attachments } = await PostalMime.parse(
    Buffer.concat([Buffer.from(header), bytes]),
  );
  if (type === 'text/calendar') {
    const content = attachments[0]?.content ?? '';
    return typeof content === 'string' ? content : new TextDecoder().decode(content);
  }
  return (type === 'text/html' ? html : text) ?? '';
}
