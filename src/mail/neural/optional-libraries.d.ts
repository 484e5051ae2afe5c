/*
 * What is used of optional packages: the server is built, and runs, without them too. Declared here, they need not be there
 * to be compiled against.
 */

declare module 'tesseract.js' {
  /** Recognises letters; it has threads of its own. */
  interface Engine {
    /** @throws when the image cannot be read */
    recognize(image: Buffer): Promise<{ data: { text: string } }>;
  }
  const tesseract: {
    createWorker(
      language: string,
      /** 1: by neural networks. */
      mode: number,
      options: { langPath: string; cacheMethod: string; errorHandler: () => void },
    ): Promise<Engine>;
  };
  export type { Engine };
  export default tesseract;
}

declare module 'unpdf' {
  /** A PDF file that is open. */
  interface Pdf {
    readonly numPages: number;
    readonly loadingTask: { destroy(): Promise<void> };
    getPage(number: number): Promise<Page>;
  }
  interface Page {
    getTextContent(): Promise<{ items: ({ str: string; hasEOL: boolean } | { type: string })[] }>;
  }
  interface PageImage {
    data: Uint8ClampedArray;
    width: number;
    height: number;
    channels: 1 | 3 | 4;
  }
  /** @throws {Error} named `PasswordException` when it has one */
  export function getDocumentProxy(
    bytes: Uint8Array,
    options: { maxImageSize: number; verbosity: number },
  ): Promise<Pdf>;
  export function extractImages(pdf: Pdf, page: number): Promise<PageImage[]>;
  export type { Page, PageImage, Pdf };
}
