import { finished } from 'node:stream/promises';
import { createInflate } from 'node:zlib';
import { RefusedInput } from '../threads/tasks.ts';

const MB = 2 ** 20;
/** The pixels of an image of 25 million pixels with four colours are 95 MB. */
const MOST_STREAM_BYTES = 100 * MB;
/** Deflate cannot compress better (zlib, "Maximum Compression Factor"). */
const LEAST_STREAM_BYTES = Math.floor(MOST_STREAM_BYTES / 1032);
/** A stream begins after this word and a line end (ISO 32000-1, 7.3.8.1). */
const STREAM = Buffer.from('stream');
const END = Buffer.from('endstream');
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Refuses a PDF file with a compressed stream that expands to more than 100 MB. The reader keeps a
 * whole stream in memory. It does not see streams that are compressed twice, encrypted, or contain
 * the word that ends a stream; the memory limit of the process ends those.
 * @throws {RefusedInput}
 */
export async function assertModestStreams(pdf: Uint8Array): Promise<void> {
  const file = Buffer.from(pdf.buffer, pdf.byteOffset, pdf.byteLength);
  for (let at = file.indexOf(STREAM); at !== -1; at = file.indexOf(STREAM, at + 1)) {
    const start = startOfData(file, at + STREAM.length);
    if (isZlib(file, start) && isLarge(file, start) && (await expandsTooFar(file.subarray(start))))
      throw new RefusedInput(
        `file_id: a stream of the PDF file expands to more than ${MOST_STREAM_BYTES / MB} MB`,
      );
  }
}

function isLarge(file: Buffer, start: number): boolean {
  const beginning = file.subarray(start, start + LEAST_STREAM_BYTES);
  return beginning.length >= LEAST_STREAM_BYTES && !beginning.includes(END);
}

function startOfData(file: Buffer, at: number): number {
  const start = file[at] === CARRIAGE_RETURN ? at + 1 : at;
  return file[start] === LINE_FEED ? start + 1 : start;
}

/** RFC 1950 2.2: the method is 8, and the first two bytes are a multiple of 31. */
function isZlib(file: Buffer, at: number): boolean {
  const [first = 0, second = 0] = [file[at], file[at + 1]];
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;
}

async function expandsTooFar(data: Buffer): Promise<boolean> {
  const inflate = createInflate({ chunkSize: 64 * 1024 });
  let bytes = 0;
  inflate.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MOST_STREAM_BYTES) inflate.destroy();
  });
  inflate.end(data);
  // The stream may be damaged or no such stream. The reader decides what it reads of it.
  await finished(inflate).catch(() => undefined);
  return bytes > MOST_STREAM_BYTES;
}
