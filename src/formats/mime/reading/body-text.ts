import { decodeCharset } from './charset.ts';
import { unflow } from './flowed-text.ts';
import type { Notes } from './notes.ts';
import type { Part } from './part.ts';
import { type BodyItem, hasHtml } from './sort-parts.ts';

/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** The body of a message in its two forms; `null` for a form that the message does not have. */
export interface BodyTexts {
  html: string | null;
  plain: string | null;
}

/** Text of one part. */
interface Piece {
  isHtml: boolean;
  text: string;
}

/** Reads the texts of the parts that `sortParts` has chosen. */
export class BodyReader {
  private readonly most: number;
  private readonly notes: Notes;
  readonly #texts = new Map<Part, string>();

  /** @param most longest body in UTF-16 units; the rest is left out */
  constructor(most: number, notes: Notes) {
    this.most = most;
    this.notes = notes;
  }

  /** Both forms of the body. Never throws. */
  read(body: readonly BodyItem[]): BodyTexts {
    const shown = this.#pieces(body, true);
    const plain = this.#pieces(body, false);
    return {
      html: shown.some(({ isHtml }) => isHtml) ? this.#cut(shown.map(asHtml).join('\n')) : null,
      plain:
        plain.length === 0 || plain.some(({ isHtml }) => isHtml)
          ? null
          : this.#cut(plain.map(({ text }) => text).join('\n')),
    };
  }

  #cut(text: string): string {
    if (text.length <= this.most) return text;
    this.notes.leaveOut(`The text is longer than ${this.most} characters: the rest is left out`);
    return text.slice(0, this.most);
  }

  /** The texts in order, each in the wanted form if there is one that is not empty. */
  #pieces(items: readonly BodyItem[], html: boolean): Piece[] {
    return items.flatMap((item) => {
      if (item.kind === 'text')
        return [{ isHtml: item.part.type === 'text/html', text: this.textOf(item.part) }];
      const preferred = html
        ? item.forms
        : item.forms.toSorted((a, b) => Number(hasHtml(a)) - Number(hasHtml(b)));
      const written = preferred.map((form) => this.#pieces(form, html));
      return written.find((pieces) => pieces.some(isWritten)) ?? written[0] ?? [];
    });
  }

  /** Decoded text of a part; empty if its content was not fetched. */
  textOf(part: Part): string {
    const known = this.#texts.get(part);
    if (known !== undefined) return known;
    const { content, charset, isCut, unknownEncoding } = part;
    if (unknownEncoding !== null)
      this.notes.guess(
        `The transfer encoding "${unknownEncoding}" of part ${part.section} is unknown`,
      );
    if (content === null) {
      this.notes.leaveOut(`The text of part ${part.section} could not be fetched`);
      this.#texts.set(part, '');
      return '';
    }
    if (isCut)
      this.notes.leaveOut(`The text of part ${part.section} is too long: its end is left out`);
    const html = part.type === 'text/html';
    const { text, certain } = decodeCharset(content, charset, { html, isCut });
    if (!certain)
      this.notes.guess(
        charset === ''
          ? `The text of part ${part.section} is neither ASCII nor UTF-8 and names no charset: it is read in the likeliest charset`
          : `The text of part ${part.section} does not fit its charset "${charset.slice(0, 40)}": it is read in the likeliest charset`,
      );
    const decoded = part.isFlowed && part.type === 'text/plain' ? unflow(text, part.delSp) : text;
    this.#texts.set(part, decoded);
    return decoded;
  }
}

const isWritten = ({ text }: Piece): boolean => /\S/.test(text);

const asHtml = ({ isHtml, text }: Piece): string =>
  isHtml ? text : `<div>${htmlOfText(text.trimEnd())}</div>`;

/** Plain text as HTML that shows its lines. */
export function htmlOfText(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replace(/\r?\n/g, '<br>\n');
}
