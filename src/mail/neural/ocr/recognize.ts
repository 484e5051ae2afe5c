import { createRequire } from 'node:module';
import path from 'node:path';
import type { Engine } from 'tesseract.js';
import type { PageImage, Pdf } from 'unpdf';
import { MissingPackage, RefusedInput } from '../threads/tasks.ts';
import { imageSizeOf } from './image-size.ts';
import { assertModestStreams } from './pdf-streams.ts';

/** Maximum number of pages per request, and the number read by default. */
export const MOST_PAGES = 5;
/** Maximum width × height. */
export const MOST_PIXELS = 25_000_000;
const LEAST_SIDE = 16;
/** Maximum number of images read per page; scans have one. */
const MOST_IMAGES = 4;
/**
 * A page with at least this many letters has a text layer. A page with fewer is taken for a scan,
 * perhaps with a page number.
 */
const LEAST_LETTERS = 20;
const LANGUAGE = 'eng';
const ENGINE = 'tesseract.js';
const LANGUAGE_DATA = '@tesseract.js-data/eng';
const PDF = 'unpdf';

const require = createRequire(import.meta.url);
/** One for all images of the file. It ends with the process. */
let engine: Promise<Engine> | undefined;

/** @throws {MissingPackage} if the package is not installed */
async function optional<T>(name: string, load: () => Promise<T> | T): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND')
      throw new MissingPackage(name);
    throw error;
  }
}

async function startEngine(): Promise<Engine> {
  const { createWorker } = (await optional(ENGINE, () => import('tesseract.js'))).default;
  const data = await optional(LANGUAGE_DATA, () =>
    require.resolve(`${LANGUAGE_DATA}/package.json`),
  );
  return createWorker(LANGUAGE, 1, {
    // Uses the installed language data: nothing is downloaded and nothing is written to disk.
    langPath: path.join(path.dirname(data), '4.0.0_best_int'),
    cacheMethod: 'none',
    // Without a handler an unreadable image ends the thread. The promise is rejected in any case.
    errorHandler: () => undefined,
  });
}

async function readImage(bytes: Uint8Array): Promise<string> {
  engine ??= startEngine();
  const started = await engine;
  try {
    const { data } = await started.recognize(
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    );
    return data.text.trim();
  } catch (error) {
    throw new RefusedInput(`file_id: the image cannot be read (${String(error).slice(0, 100)})`);
  }
}

/**
 * Recognises the text of a file, page by page. Images are read by OCR. A PDF page is read from its
 * text layer or, without one, by OCR of its images.
 * @param pages page numbers from 1; `null` for the first `MOST_PAGES`
 * @throws {RefusedInput} names the problem with the file or the pages
 * @throws {MissingPackage}
 */
export async function recognize(
  bytes: Uint8Array,
  pages: readonly number[] | null,
): Promise<string[]> {
  if (
    Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(1024, bytes.byteLength)).includes('%PDF-')
  )
    return readPdf(bytes, pages);
  const size = imageSizeOf(bytes);
  if (!size)
    throw new RefusedInput(
      'file_id: must be a PDF file or an image (PNG, JPEG, WebP, BMP, PNM, GIF or TIFF)',
    );
  if (size.width * size.height > MOST_PIXELS)
    throw new RefusedInput(
      `file_id: the image has ${size.width} × ${size.height} pixels; the limit is ${MOST_PIXELS}`,
    );
  if (pages?.some((page) => page !== 1)) throw new RefusedInput('pages: an image has only page 1');
  return [await readImage(bytes)];
}

async function readPdf(bytes: Uint8Array, pages: readonly number[] | null): Promise<string[]> {
  const { extractImages, getDocumentProxy } = await optional(PDF, () => import('unpdf'));
  await assertModestStreams(bytes);
  const pdf = await getDocumentProxy(bytes, { maxImageSize: MOST_PIXELS, verbosity: 0 }).catch(
    (error: Error) => {
      const why =
        error.name === 'PasswordException'
          ? 'it is protected by a password'
          : error.message.slice(0, 100);
      throw new RefusedInput(`file_id: the PDF file cannot be read (${why})`);
    },
  );
  try {
    const beyond = pages?.find((page) => page > pdf.numPages);
    if (beyond !== undefined)
      throw new RefusedInput(
        `pages: there is no page ${beyond}; the file has ${pdf.numPages} pages`,
      );
    const wanted =
      pages ?? Array.from({ length: Math.min(MOST_PAGES, pdf.numPages) }, (_, index) => index + 1);
    const texts: string[] = [];
    for (const page of wanted) texts.push(await readPage(pdf, page, extractImages));
    return texts;
  } finally {
    await pdf.loadingTask.destroy();
  }
}

async function readPage(
  pdf: Pdf,
  number: number,
  extractImages: (typeof import('unpdf'))['extractImages'],
): Promise<string> {
  const page = await pdf.getPage(number).catch((error: Error) => {
    throw new RefusedInput(
      `file_id: page ${number} cannot be read (${error.message.slice(0, 100)})`,
    );
  });
  const { items } = await page.getTextContent();
  const layer = items
    .map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : ''))
    .join('')
    .trim();
  if ((layer.match(/\p{L}|\p{N}/gu)?.length ?? 0) >= LEAST_LETTERS) return layer;
  const images = (await extractImages(pdf, number)).filter(
    ({ width, height }) =>
      width >= LEAST_SIDE && height >= LEAST_SIDE && width * height <= MOST_PIXELS,
  );
  const largest = images
    .toSorted((a, b) => b.width * b.height - a.width * a.height)
    .slice(0, MOST_IMAGES);
  const texts: string[] = [layer];
  for (const image of images.filter((each) => largest.includes(each)))
    texts.push(await readImage(toPnm(image)));
  return texts.filter(Boolean).join('\n');
}

/** Converts pixels to an image format of the engine: grey (P5) or colour (P6). */
function toPnm({ data, width, height, channels }: PageImage): Uint8Array {
  const kept = channels === 1 ? 1 : 3;
  const header = Buffer.from(`P${kept === 1 ? 5 : 6}\n${width} ${height}\n255\n`);
  // One buffer, because a page may have 75 MB of pixels.
  const image = Buffer.alloc(header.length + width * height * kept);
  header.copy(image);
  for (let pixel = 0; pixel < width * height; pixel += 1)
    for (let channel = 0; channel < kept; channel += 1)
      image[header.length + pixel * kept + channel] = data[pixel * channels + channel] ?? 0;
  return image;
}
