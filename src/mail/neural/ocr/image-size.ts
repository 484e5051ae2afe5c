/** Format and size of an image, according to its header. */
export interface ImageSize {
  format: 'png' | 'jpeg' | 'bmp' | 'webp' | 'pnm' | 'gif' | 'tiff';
  width: number;
  height: number;
}

const ascii = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode(...bytes.subarray(from, to));

/**
 * Reads format and size from the first bytes, before the image is decoded. `null` if it is not an
 * image or its size cannot be read.
 *
 * Hostile images must not be larger than reported here, so no library is used. `image-size` 2.1 can
 * be misled: it continues after a broken JPEG segment, skips frames that decoders read, and reads
 * entries behind the end of a TIFF directory.
 */
export function imageSizeOf(bytes: Uint8Array): ImageSize | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    if (ascii(bytes, 1, 4) === 'PNG')
      return { format: 'png', width: view.getUint32(16), height: view.getUint32(20) };
    if (view.getUint16(0) === 0xffd8) return jpegSize(view);
    if (ascii(bytes, 0, 2) === 'BM')
      return {
        format: 'bmp',
        width: Math.abs(view.getInt32(18, true)),
        height: Math.abs(view.getInt32(22, true)),
      };
    if (ascii(bytes, 0, 4) === 'GIF8')
      return { format: 'gif', width: view.getUint16(6, true), height: view.getUint16(8, true) };
    if (ascii(bytes, 0, 4) === 'RIFF' && ascii(bytes, 8, 12) === 'WEBP')
      return webpSize(bytes, view);
    if (/^P[1-6]\s/.test(ascii(bytes, 0, 3))) return pnmSize(bytes);
    if (['II*\0', 'MM\0*'].includes(ascii(bytes, 0, 4))) return tiffSize(view);
  } catch (error) {
    // The file is shorter than its header.
    if (!(error instanceof RangeError)) throw error;
  }
  return null;
}

/** ITU T.81: the frame header (SOF) is one of the segments before the image data. */
function jpegSize(view: DataView): ImageSize | null {
  for (let at = 2; at + 9 < view.byteLength;) {
    const marker = view.getUint16(at);
    if (marker < 0xff00) return null;
    const isFrame =
      marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker);
    if (isFrame)
      return { format: 'jpeg', height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    at += marker === 0xffff ? 1 : 2 + view.getUint16(at + 2);
  }
  return null;
}

/** RFC 9649. */
function webpSize(bytes: Uint8Array, view: DataView): ImageSize | null {
  const kind = ascii(bytes, 12, 16);
  const three = (at: number) => view.getUint16(at, true) + view.getUint8(at + 2) * 0x10000;
  if (kind === 'VP8X') return { format: 'webp', width: three(24) + 1, height: three(27) + 1 };
  if (kind === 'VP8 ')
    return {
      format: 'webp',
      width: view.getUint16(26, true) & 0x3fff,
      height: view.getUint16(28, true) & 0x3fff,
    };
  if (kind !== 'VP8L') return null;
  const bits = view.getUint32(21, true);
  return { format: 'webp', width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}

function pnmSize(bytes: Uint8Array): ImageSize | null {
  const header = ascii(bytes, 0, 1000).replaceAll(/#[^\n]*\n/g, ' ');
  const [, width, height] = /^P[1-6]\s+(\d{1,9})\s+(\d{1,9})\s/.exec(header) ?? [];
  return width && height ? { format: 'pnm', width: Number(width), height: Number(height) } : null;
}

/** TIFF 6.0: width and height are entries of the first directory. */
function tiffSize(view: DataView): ImageSize | null {
  const little = view.getUint8(0) === 0x49;
  const directory = view.getUint32(4, little);
  const size: Record<number, number> = {};
  for (let index = 0; index < Math.min(100, view.getUint16(directory, little)); index += 1) {
    const at = directory + 2 + index * 12;
    const isShort = view.getUint16(at + 2, little) === 3;
    size[view.getUint16(at, little)] = isShort
      ? view.getUint16(at + 8, little)
      : view.getUint32(at + 8, little);
  }
  const [width, height] = [size[256], size[257]];
  return width && height ? { format: 'tiff', width, height } : null;
}
