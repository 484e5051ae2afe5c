/* What is used of libraries that come without types. */

declare module 'planer' {
  const planer: {
    /** The message without what it quotes, as HTML; `dom` makes its documents. */
    extractFromHtml(html: string, dom: unknown): string;
  };
  export default planer;
}

declare module 'planer/lib/regexes.js' {
  const patterns: {
    /** How the line above a quotation may look. */
    SPLITTER_PATTERNS: { exec(text: string): RegExpExecArray | null }[];
  };
  export default patterns;
}

declare module '@mixmark-io/domino' {
  const domino: { createDocument(html?: string): Document };
  /** As much of the DOM as is used. */
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
