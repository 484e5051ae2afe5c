import domino, { type Document, type Node } from '@mixmark-io/domino';
import planer from 'planer';
import patterns from 'planer/lib/regexes.js';

/**
 * Longer HTML is handled by the simpler method, because the library parses the content of every
 * element again.
 */
const MOST_CHARACTERS = 100_000;
const MOST_WORK = 1_000_000;
const MOST_TAGS = 2000;
/** Elements that end implicitly, so leaving them open does not nest. */
const FLAT = new Set([
  'area',
  'base',
  'br',
  'col',
  'dd',
  'dt',
  'hr',
  'img',
  'input',
  'li',
  'link',
  'meta',
  'option',
  'p',
  'td',
  'th',
  'tr',
  'wbr',
]);
const TAG_NAME = /[a-z][a-z0-9]*/iy;
const TEXT_NODE = 3;
const ELEMENT_NODE = 1;
/** "On … wrote:" takes up to four lines. Anything longer is a paragraph. */
const MOST_HEADER = 1000;
const QUOTED_HEADER = /^\s*(?:From|Date):/;

// The library uses only matches at the beginning, but its patterns search the whole text. A
// paragraph of 2500 characters written to exploit that took seven seconds (ADR 0038).
patterns.SPLITTER_PATTERNS = patterns.SPLITTER_PATTERNS.map((pattern) => {
  const anchored =
    pattern instanceof RegExp ? new RegExp(`^(?:${pattern.source})`, pattern.flags) : pattern;
  return { exec: (text: string) => (text.length > MOST_HEADER ? null : anchored.exec(text)) };
});

/** Counts the tags and the maximum nesting depth, without parsing. */
export function measureHtml(html: string): { tags: number; depth: number } {
  let tags = 0;
  let open = 0;
  let depth = 0;
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1)) {
    const closing = html[at + 1] === '/';
    TAG_NAME.lastIndex = at + (closing ? 2 : 1);
    const name = TAG_NAME.exec(html)?.[0]?.toLowerCase();
    if (name === undefined) continue;
    tags += 1;
    if (FLAT.has(name)) continue;
    open = Math.max(0, open + (closing ? -1 : 1));
    depth = Math.max(depth, open);
  }
  return { tags, depth };
}

/**
 * Removes the quotations of earlier messages from HTML. `null` if the HTML is too large or too
 * deeply nested for this method, or the library fails on it.
 */
export function withoutQuotations(html: string): string | null {
  if (html.length > MOST_CHARACTERS) return null;
  const { tags, depth } = measureHtml(html);
  if (tags > MOST_TAGS || html.length * Math.max(1, depth) > MOST_WORK) return null;
  try {
    return planer.extractFromHtml(html, DOCUMENTS);
  } catch {
    // The library expects the tree of a browser and fails on some senders' HTML. The simpler method
    // handles any HTML.
    return null;
  }
}

/**
 * Creates documents for the library. They are domino documents, which have no XPath, so `evaluate`
 * answers the four queries that the library makes.
 */
const DOCUMENTS = {
  implementation: {
    createHTMLDocument(): Document {
      const document = domino.createDocument().implementation.createHTMLDocument('');
      document.evaluate = (query: string) => resultOf(find(document, query));
      return document;
    },
  },
};

function resultOf(nodes: Node[]) {
  const iterator = nodes.values();
  return {
    singleNodeValue: nodes[0] ?? null,
    iterateNext: (): Node | null => iterator.next().value ?? null,
  };
}

function find(document: Document, query: string): Node[] {
  if (query.includes('blockquote')) return outermostQuotes(document).slice(-1);
  if (query.includes('MsoNormal')) {
    return Array.from(
      document.querySelectorAll(
        'div > div.MsoNormal[align="center"][style="text-align:center"] > font > span > ' +
          'hr[size="3"][width="100%"][align="center"][tabindex="-1"]',
      ),
    );
  }
  return quotedHeaders(document, query.startsWith('//text()') ? TEXT_NODE : ELEMENT_NODE);
}

function outermostQuotes(document: Document): Node[] {
  return Array.from(document.querySelectorAll('blockquote')).filter((quote) => {
    for (let above = quote.parentElement; above; above = above.parentElement)
      if (above.tagName === 'BLOCKQUOTE') return false;
    return true;
  });
}

/** Nodes of one type whose text begins like the header of a quoted message, in document order. */
function quotedHeaders(document: Document, nodeType: number): Node[] {
  const found: Node[] = [];
  const visit = (node: Node): void => {
    if (node.nodeType === nodeType && QUOTED_HEADER.test(node.textContent)) found.push(node);
    for (let child = node.firstChild; child; child = child.nextSibling) visit(child);
  };
  visit(document.documentElement);
  return found;
}
