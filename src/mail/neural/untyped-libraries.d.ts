/* The used parts of libraries without type declarations. */

declare module 'planer' {
  const planer: {
    /** Removes the quotations from the HTML of a message. `dom` creates the library's documents. */
    extractFromHtml(html: string, dom: unknown): string;
  };
  export default planer;
}

declare module 'planer/lib/regexes.js' {
  const patterns: {
    /** Patterns for the line above a quotation. */
    SPLITTER_PATTERNS: { exec(text: string): RegExpExecArray | null }[];
  };
  export default patterns;
}

declare module '@mixmark-io/domino' {
  const domino: { createDocument(html?: string): Document };
  /** The used part of the DOM. */
  interface Document {
    readonly implementation: { createHTMLDocument(title: string): Document };
    querySelectorAll(selector: string): ArrayLike<Node>;
    readonly documentElement: Node;
    evaluate?: unknown;
  }
  interface Node {
    readonly nodeType: number;
    readonly textContent: string;
    readonly tagName?: string;
    readonly parentElement: Node | null;
    readonly firstChild: Node | null;
    readonly nextSibling: Node | null;
  }
  export { Document, Node };
  export default domino;
}

declare module 'vader-sentiment' {
  const vader: {
    SentimentIntensityAnalyzer: {
      polarity_scores(text: string): { compound: number; neg: number; neu: number; pos: number };
    };
  };
  export default vader;
}
