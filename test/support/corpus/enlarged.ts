/*
 * IMAP accounts read messages over 256 KB by their parts. The corpus has small messages only, so
 * each gets a large file.
 */

const LARGE_KB = 300;
/** Name of the file that `enlarged` adds. */
export const ADDED_FILE = 'added-by-the-corpus.pdf';

/** The same message with a large file after it. Its other header fields stay where they are. */
export function enlarged(mime: Buffer): Buffer {
  const text = mime.toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) throw new Error('the message has no empty line after its header');
  const fields = text.slice(0, end).split(/\r\n(?![ \t])/);
  const [own, others] = [fields.filter(isOfPart), fields.filter((field) => !isOfPart(field))];
  const lines = [
    ...others,
    'Content-Type: multipart/mixed; boundary=added-by-the-corpus',
    '',
    '--added-by-the-corpus',
    ...own,
    text.slice(end + 2),
    '--added-by-the-corpus',
    'Content-Type: application/pdf',
    `Content-Disposition: attachment; filename="${ADDED_FILE}"`,
    'Content-Transfer-Encoding: base64',
    '',
    ...Array<string>(LARGE_KB * 14).fill('A'.repeat(76)),
    '--added-by-the-corpus--',
    '',
  ];
  return Buffer.from(lines.join('\r\n'), 'latin1');
}

const isOfPart = (field: string): boolean => /^content-/i.test(field);
