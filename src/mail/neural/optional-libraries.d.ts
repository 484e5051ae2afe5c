/*
 * The used parts of optional packages. Declared here, so that the server can be compiled without
 * the packages installed.
 */

declare module 'tesseract.js' {
  /** Recognises text; it has its own threads. */
  interface Engine {
    /** @throws if the image cannot be read */
    recognize(image: Buffer): Promise<{ data: { text: string } }>;
  }
  const tesseract: {
    createWorker(
      language: string,
      /** 1 selects the neural network engine. */
      mode: number,
      options: { langPath: string; cacheMethod: string; errorHandler: () => void },
    ): Promise<Engine>;
  };
  export type { Engine };
  export default tesseract;
}

declare module 'unpdf' {
  /** An open PDF file. */
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
  /** @throws {Error} named `PasswordException` if the file has a password */
  export function getDocumentProxy(
    bytes: Uint8Array,
    options: { maxImageSize: number; verbosity: number },
  ): Promise<Pdf>;
  export function extractImages(pdf: Pdf, page: number): Promise<PageImage[]>;
  export type { Page, PageImage, Pdf };
}
