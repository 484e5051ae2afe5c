/** The used parts of the package, which has no types of its own. */
declare module 'sax' {
  export interface SaxParser {
    onerror: (error: Error) => void;
    ondoctype: () => void;
    onopentag: (tag: { name: string; attributes: Readonly<Record<string, string>> }) => void;
    onclosetag: (name: string) => void;
    ontext: (text: string) => void;
    oncdata: (text: string) => void;
    write(text: string): SaxParser;
    close(): SaxParser;
  }
  const sax: {
    /** @param strict true accepts well-formed XML only */
    parser(strict: boolean, options?: { trim?: boolean; strictEntities?: boolean }): SaxParser;
  };
  export default sax;
}
