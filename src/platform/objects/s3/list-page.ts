import type { SaxParser } from 'sax';
import { whenNeeded } from '../../base/when-needed.ts';

/** Most bytes of a page of a list: 1000 objects of about 400 bytes each, and room. */
export const MOST_LIST_BYTES = 2 * 1024 * 1024;

interface Sax {
  parser(strict: boolean, options: { trim: boolean; strictEntities: boolean }): SaxParser;
}
const sax = whenNeeded(import.meta.url, (require) => require('sax') as Sax);

/** A page of `ListObjectsV2`. */
export interface ListPage {
  /** In the order of the answer. */
  keys: string[];
  /** Whether the store has more objects after these. */
  isTruncated: boolean;
}

/**
 * Reads the XML of `ListObjectsV2`. A DTD is refused, so only XML's five predefined entities are
 * expanded.
 * @throws {Error} if it is not well-formed, or something else than such a list
 */
export function readListPage(xml: string): ListPage {
  const page: ListPage = { keys: [], isTruncated: false };
  const path: string[] = [];
  let text = '';
  const parser = sax().parser(true, { trim: false, strictEntities: true });
  const addText = (piece: string) => {
    text += piece;
  };
  Object.assign(parser, {
    onerror: (error) => {
      throw error;
    },
    ondoctype: () => {
      throw new Error('the list has a DTD');
    },
    onopentag: ({ name }) => {
      path.push(name);
      text = '';
    },
    ontext: addText,
    oncdata: addText,
    onclosetag: (name) => {
      path.pop();
      const parent = path.at(-1);
      if (parent === 'Contents' && name === 'Key') page.keys.push(text);
      if (parent === 'ListBucketResult' && name === 'IsTruncated')
        page.isTruncated = text === 'true';
      if (parent === undefined && name !== 'ListBucketResult') throw new Error('it is no list');
      text = '';
    },
  } satisfies Partial<SaxParser>);
  parser.write(xml).close();
  return page;
}
