import stringWidth from 'string-width';

const characters = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Columns that a text takes in a terminal: two for each Chinese character and each emoji. */
export const widthOf = (text: string): number => stringWidth(text);

/** The longest beginning of a text that fits, with whole characters as people see them. */
function beginning(text: string, width: number): string {
  let end = 0;
  let used = 0;
  for (const { segment, index } of characters.segment(text)) {
    used += widthOf(segment);
    if (used > width) break;
    end = index + segment.length;
  }
  return text.slice(0, end);
}

/** A text in so many columns: one that is wider ends with `…`. */
export const cut = (text: string, width: number): string =>
  widthOf(text) <= width ? text : `${beginning(text, width - 1)}…`;

/**
 * A text in lines of so many columns, so that it is read to its end. Lines end between words, and
 * within a word only if it is wider than a line.
 * @param text one line
 */
export function wrapped(text: string, width: number): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/ +/u)) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (widthOf(longer) <= width) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line);
    line = word;
    while (widthOf(line) > width) {
      const fits = beginning(line, width) || line;
      lines.push(fits);
      line = line.slice(fits.length);
    }
  }
  return [...lines, line].join('\n');
}
