import type { Notes } from './notes.ts';
import type { Part } from './part.ts';

/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** A part whose text is shown, or several forms of the same content. */
export type BodyItem =
  | { kind: 'text'; part: Part }
  /** Forms of a multipart/alternative that contain text, the best one first. */
  | { kind: 'choice'; forms: readonly (readonly BodyItem[])[] };

/** A file of a message. */
export interface FilePart {
  part: Part;
  /** Identifies the file in the message; numbers can be missing. */
  position: number;
  /** Whether the HTML text of a multipart/related refers to it by its Content-ID. */
  isReferred: boolean;
}

/** The parts of a message by what they are. */
export interface SortedParts {
  /** In the order in which they are shown. */
  body: readonly BodyItem[];
  files: readonly FilePart[];
}

/** Further texts are files. */
const MOST_TEXTS = 500;
/** Further files are left out. */
const MOST_FILES = 500;

/** Where a part stands in the message. */
interface Place {
  /** Whether it is a form of the whole content, of which one is shown. */
  isForm: boolean;
  /** Whether it belongs to another part, which refers to it by its Content-ID. */
  isReferred: boolean;
}
const TOP: Place = { isForm: false, isReferred: false };

/**
 * Decides which parts of a message are its body, in which order, and which are files. All readers
 * of messages use it, so that a message looks the same however it was fetched.
 *
 * - Plain and HTML texts are the body, unless they are attachments (RFC 2183 section 2).
 * - A text with a name is a file if the message has a text without a name. In a
 *   multipart/alternative, a name in the Content-Type does not count.
 * - A text with a Content-ID that is not the first part of a multipart/related is a file.
 * - Of a multipart/alternative the last form with HTML is shown, or the last form with text (RFC
 *   2046 section 5.1.4). A form without text contributes its files only. A form for programs of
 *   another kind (AMP, watches) is neither shown nor a file.
 * - Everything else is a file, messages within the message included.
 */
export function sortParts(root: Part, notes: Notes): SortedParts {
  const sorter = new Sorter(hasNamelessText(root, TOP));
  const body = sorter.sort(root, TOP);
  return { body, files: sorter.numbered(notes) };
}

/**
 * Whether a part was counted as an attachment before named texts were files. Positions are stored,
 * so a file keeps its position, and named texts come after all others.
 */
function wasFile({ writtenType, disposition }: Part): boolean {
  if (writtenType.startsWith('multipart/')) return false;
  return (
    !(writtenType === 'text/plain' || writtenType === 'text/html') || disposition === 'attachment'
  );
}

class Sorter {
  readonly #leaves: { part: Part; isReferred: boolean; isFile: boolean }[] = [];
  private readonly hasNameless: boolean;
  #texts = 0;

  constructor(hasNameless: boolean) {
    this.hasNameless = hasNameless;
  }

  sort(part: Part, place: Place): BodyItem[] {
    if (part.children) {
      if (part.type === 'multipart/alternative') return this.#choose(part.children);
      const { children, type } = part;
      return children.flatMap((child, index) => this.sort(child, placeIn(type, index, place)));
    }
    const isText = this.#isBody(part, place) && this.#texts < MOST_TEXTS;
    this.#leaves.push({
      part,
      isReferred: place.isReferred && part.contentId !== null,
      isFile: !isText,
    });
    if (!isText) return [];
    this.#texts += 1;
    return [{ kind: 'text', part }];
  }

  #choose(children: readonly Part[]): BodyItem[] {
    const before = this.#leaves.length;
    const forms = children
      .map((child) => this.sort(child, { isForm: true, isReferred: false }))
      .filter(({ length }) => length > 0);
    if (forms.length > 0)
      for (const leaf of this.#leaves.slice(before))
        if (children.includes(leaf.part) && isOtherForm(leaf.part)) leaf.isFile = false;
    const [only, ...others] = forms;
    if (only && others.length === 0) return only;
    const last = forms.toReversed();
    const [html, plain] = [last.filter(hasHtml), last.filter((form) => !hasHtml(form))];
    return forms.length === 0 ? [] : [{ kind: 'choice', forms: [...html, ...plain] }];
  }

  #isBody(part: Part, place: Place): boolean {
    return isShownText(part, place) && !(this.hasNameless && isNamed(part, place));
  }

  numbered(notes: Notes): FilePart[] {
    const before = this.#leaves.filter(({ part }) => wasFile(part));
    const added = this.#leaves.filter(({ part }) => !wasFile(part));
    const all = [...before, ...added].flatMap(({ isFile, ...leaf }, position) =>
      isFile ? [{ ...leaf, position }] : [],
    );
    const files = all.slice(0, MOST_FILES);
    if (all.length > files.length)
      notes.leaveOut(
        `The message has ${all.length} files: only the first ${MOST_FILES} are listed`,
      );
    return files;
  }
}

function placeIn(type: string, index: number, { isForm }: Place): Place {
  const isRelated = type === 'multipart/related';
  return { isForm: isForm && isRelated && index === 0, isReferred: isRelated && index > 0 };
}

function isShownText({ type, disposition, contentId }: Part, { isReferred }: Place): boolean {
  const isText = type === 'text/plain' || type === 'text/html';
  return isText && disposition !== 'attachment' && !(isReferred && contentId !== null);
}

/** The same text for mail programs that run AMP, and for watches. */
const OTHER_FORMS = ['text/x-amp-html', 'text/watch-html'];
const isOtherForm = ({ type, disposition, filename }: Part): boolean =>
  OTHER_FORMS.includes(type) && disposition === '' && filename === '';

const isNamed = ({ filename, isNamedByType }: Part, { isForm }: Place): boolean =>
  filename !== '' && !(isForm && isNamedByType);

function hasNamelessText(part: Part, place: Place): boolean {
  if (!part.children) return isShownText(part, place) && !isNamed(part, place);
  const { children, type } = part;
  const isForm = type === 'multipart/alternative';
  return children.some((child, index) =>
    hasNamelessText(child, isForm ? { isForm, isReferred: false } : placeIn(type, index, place)),
  );
}

/** Whether a file is shown within the text, or listed beside it. */
export function dispositionOf({ part, isReferred }: FilePart): 'inline' | 'attachment' {
  return part.disposition || (isReferred ? 'inline' : 'attachment');
}

/** Whether a form of the content has HTML. */
export function hasHtml(items: readonly BodyItem[]): boolean {
  return items.some((item) =>
    item.kind === 'text' ? item.part.type === 'text/html' : item.forms.some(hasHtml),
  );
}
