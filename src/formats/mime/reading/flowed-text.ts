/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** A line of a text in the format "flowed", without its marks. */
interface FlowedLine {
  /** Number of `>` in front. */
  depth: number;
  text: string;
  /** Whether the paragraph goes on in the next line. */
  isFlowed: boolean;
}

const SIGNATURE = '-- ';

/**
 * Joins the lines of paragraphs in a text with `format=flowed` (RFC 3676). A paragraph ends at a
 * fixed line, at an empty line, at a signature, and where the depth of quotation changes. Each
 * quoted paragraph begins with its `>`.
 * @param delSp whether the space at the end of a flowed line is not part of the text (`delsp=yes`)
 */
export function unflow(text: string, delSp: boolean): string {
  const joined: string[] = [];
  let open: { depth: number; pieces: string[] } | null = null;
  const close = () => {
    if (open) joined.push(quoted(open.depth, open.pieces.join('')));
    open = null;
  };
  for (const line of text.split(/\r?\n/).map((one) => readLine(one, delSp))) {
    const isNew =
      open === null || open.depth !== line.depth || line.text === '' || line.text === SIGNATURE;
    if (isNew) close();
    open ??= { depth: line.depth, pieces: [] };
    open.pieces.push(line.text);
    if (!line.isFlowed) close();
  }
  close();
  return joined.join('\n');
}

function readLine(line: string, delSp: boolean): FlowedLine {
  let depth = 0;
  while (line.charAt(depth) === '>') depth += 1;
  const stuffed = line.slice(depth);
  const text = stuffed.startsWith(' ') ? stuffed.slice(1) : stuffed;
  const isFlowed = text.endsWith(' ') && text !== SIGNATURE;
  return { depth, text: isFlowed && delSp ? text.slice(0, -1) : text, isFlowed };
}

function quoted(depth: number, text: string): string {
  if (depth === 0) return text;
  return text === '' ? '>'.repeat(depth) : `${'>'.repeat(depth)} ${text}`;
}
