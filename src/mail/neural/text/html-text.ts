import type { FormatCallback, HtmlToTextOptions } from 'html-to-text';
import { whenNeeded } from '../../../platform/base/when-needed.ts';
import { BLOCKS, SEPARATING } from '../../../formats/text/html-elements.ts';

const htmlToText = whenNeeded(
  import.meta.url,
  (require) => require('html-to-text') as typeof import('html-to-text'),
);

/** Options for converting HTML to text. */
export interface TextOptions {
  /** True to keep only the text of links; false for `[text](address)`. */
  ignoreLinks: boolean;
  ignoreImages: boolean;
  /** True to turn rows of tables into lines; false to turn data tables into Markdown tables. */
  ignoreTables: boolean;
  /** True for `![description](address)`; false for `<img alt="description" src='address'>`. */
  imagesAsMarkdown: boolean;
}

/** An attachment that the HTML may show as an image. */
export interface InlineFile {
  id: string;
  contentId: string | null;
}

/** HTML after this many characters is ignored. */
const MOST_CHARACTERS = 200_000;
const MOST_DEPTH = 150;
const MOST_ADDRESS = 2048;
/**
 * Characters that enclose a signature marked by a mail program. They are removed from the sender's
 * text first, so a sender cannot forge them.
 */
export const SIGNATURE_BEGINS = '\uE0F0';
export const SIGNATURE_ENDS = '\uE0F1';
const MARKS = /[\uE0F0\uE0F1]/g;

const SIGNATURES = [
  '.gmail_signature',
  '[data-smartmail="gmail_signature"]',
  '.moz-signature',
  '#Signature',
  '#signature',
  '#AppleMailSignature',
  '#ms-outlook-mobile-signature',
  '.protonmail_signature_block',
];
const QUOTATIONS = [
  '.gmail_quote',
  'blockquote',
  '.moz-cite-prefix',
  '.yahoo_quoted',
  '#divRplyFwdMsg',
  '#OLK_SRC_BODY_SECTION',
];

/** Blocks that the library formats in a way of its own, and table cells, which stay on one line. */
const FORMATTED: readonly string[] = [
  'blockquote',
  'body',
  'br',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'html',
  'ol',
  'p',
  'pre',
  'table',
  'td',
  'th',
  'ul',
];
/** Blocks whose text stands on lines of its own. */
const LINES = BLOCKS.filter((name) => !FORMATTED.includes(name));
const LINE = { leadingLineBreaks: 1, trailingLineBreaks: 1 };
/** Table cells, and elements that show something other than text. */
const SPACED = [...SEPARATING].filter(
  (name) => name === 'td' || name === 'th' || !(BLOCKS as readonly string[]).includes(name),
);

/** One element of the parsed HTML. */
type Element = Parameters<FormatCallback>[0];

const attribute = (element: Element, name: string): string => {
  const value: unknown = (element.attribs as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' ? value.trim() : '';
};

/**
 * A web, mail or telephone address with all characters escaped that could end the surrounding
 * markup. Empty for any other address.
 */
const shownAddress = (address: string): string =>
  address.length > MOST_ADDRESS || !/^(?:https?:|mailto:|tel:)/i.test(address)
    ? ''
    : address.replaceAll(
        /[\s'"<>()]/g,
        (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
      );

const link: FormatCallback = (element, walk, builder) => {
  const address = shownAddress(attribute(element, 'href'));
  if (address) builder.addInline('[');
  walk(element.children, builder);
  if (address) builder.addInline(`](${address})`, { noWordTransform: true });
};

const signature: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 1 });
  builder.addInline(SIGNATURE_BEGINS);
  walk(element.children, builder);
  builder.addInline(SIGNATURE_ENDS);
  builder.closeBlock({ trailingLineBreaks: 1 });
};

/** Leaves an element out, but not the space that it takes. */
const gap: FormatCallback = (_element, _walk, builder) => {
  builder.addInline(' ');
};

const spaced: FormatCallback = (element, walk, builder) => {
  builder.addInline(' ');
  walk(element.children, builder);
  builder.addInline(' ');
};

function imageFormat(asMarkdown: boolean, files: readonly InlineFile[]): FormatCallback {
  const ids = new Map(
    files.flatMap(({ id, contentId }) =>
      contentId ? [[contentId.replaceAll(/[<>]/g, ''), id] as const] : [],
    ),
  );
  return (element, _walk, builder) => {
    const source = attribute(element, 'src');
    // Clients look up the file by the text after `cid:`, so the file's id is used there.
    const file = /^cid:/i.test(source) ? ids.get(source.slice('cid:'.length)) : undefined;
    const address = file === undefined ? shownAddress(source) : `cid:${file}`;
    if (!address) return builder.addInline(' ');
    const alt = attribute(element, 'alt')
      .replaceAll(/[[\]()'"<>\s]+/g, ' ')
      .slice(0, 200)
      .trim();
    // The official client takes everything up to the last ' or ) of the line as the id.
    const mark = asMarkdown ? `![${alt}](${address})` : `<img alt="${alt}" src='${address}'>`;
    builder.openBlock({ leadingLineBreaks: 1 });
    builder.addInline(mark, { noWordTransform: true });
    builder.closeBlock({ trailingLineBreaks: 1 });
  };
}

const childrenOf = (element: Element): Element[] => (element.children ?? []) as Element[];

/** The next elements below with one of these names, except those inside a nested table. */
function below(element: Element, names: readonly string[]): Element[] {
  return childrenOf(element).flatMap((child) => {
    if (names.includes(child.name ?? '')) return [child];
    return child.name === 'table' ? [] : below(child, names);
  });
}

function plainText(element: Element): string {
  if (element.type === 'text') return element.data ?? '';
  const text = childrenOf(element).map(plainText).join('');
  return SEPARATING.has(element.name ?? '') ? ` ${text} ` : text;
}

/** Renders a data table as Markdown, and the rows of a layout table as lines. */
const table: FormatCallback = (element, walk, builder) => {
  const rows = below(element, ['tr']).map((row) => below(row, ['td', 'th']));
  const isData =
    rows.length > 1 &&
    rows.every(
      (cells) => cells.length > 1 && cells.every((each) => below(each, ['table']).length === 0),
    );
  builder.openBlock({ leadingLineBreaks: 2 });
  if (isData) {
    const width = Math.max(...rows.map((cells) => cells.length));
    const lines = rows.map((cells) =>
      lineOf(
        Array.from({ length: width }, (_, index) => {
          const each = cells[index];
          return each ? plainText(each).replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').trim() : '';
        }),
      ),
    );
    lines.splice(1, 0, lineOf(Array.from({ length: width }, () => '---')));
    for (const [index, line] of lines.entries()) {
      if (index > 0) builder.addLineBreak();
      builder.addInline(line, { noWordTransform: true });
    }
  } else {
    walk(element.children, builder);
  }
  builder.closeBlock({ trailingLineBreaks: 2 });
};

const lineOf = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/**
 * Converts HTML to text in time that grows linearly with its length. Parts that are too long or too
 * deeply nested are left out.
 * @param quotations `skip` removes quotations that are marked by mail programs
 */
export function textOfHtml(
  html: string,
  options: TextOptions,
  files: readonly InlineFile[] = [],
  quotations: 'keep' | 'skip' = 'keep',
): string {
  const skipped = ['title', ...(quotations === 'skip' ? QUOTATIONS : [])];
  const settings: HtmlToTextOptions = {
    wordwrap: false,
    // Without the zero-width space of the library's default, which is part of a word.
    whitespaceCharacters: ' \t\r\n\f',
    limits: {
      maxInputLength: MOST_CHARACTERS,
      maxDepth: MOST_DEPTH,
      maxChildNodes: 20_000,
      ellipsis: '',
    },
    formatters: {
      link,
      signature,
      gap,
      spaced,
      table,
      image: imageFormat(options.imagesAsMarkdown, files),
    },
    selectors: [
      ...SPACED.map((selector) => ({ selector, format: 'spaced' })),
      ...LINES.map((selector) => ({ selector, format: 'block', options: LINE })),
      {
        selector: 'a',
        ...(options.ignoreLinks ? { options: { ignoreHref: true } } : { format: 'link' }),
      },
      { selector: 'img', format: options.ignoreImages ? 'gap' : 'image' },
      { selector: 'table', format: options.ignoreTables ? 'block' : 'table' },
      { selector: 'ul', options: { itemPrefix: '- ' } },
      ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({
        selector,
        options: { uppercase: false },
      })),
      ...SIGNATURES.map((selector) => ({ selector, format: 'signature' })),
      ...skipped.map((selector) => ({ selector, format: 'skip' })),
    ],
  };
  const text = htmlToText().compile(settings)(html.slice(0, MOST_CHARACTERS).replaceAll(MARKS, ''));
  const lines = text.replaceAll('\u00A0', ' ').split('\n');
  return lines
    .map((line) => line.trimEnd())
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}
